//! The fuzzer: libFuzzer drives the target that `TRUNKLINE_FUZZ_TARGET` names.

#![no_main]

use std::sync::LazyLock;

use trunkline_fuzz::{TARGETS, Target, target};

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TRUNKLINE_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        panic!("TRUNKLINE_FUZZ_TARGET is `{name}`; write one of {}", names.join(", "))
    })
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (CHOSEN.run)(bytes));
