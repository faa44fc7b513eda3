//! Where the programs are: `TRUNKLINE_BIN_DIR`, or built once beside the running test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The gateway.
pub fn trunkline() -> PathBuf {
    product().join("trunkline")
}

/// The drop-in binary that is always `--simple`.
pub fn simple_aggregator() -> PathBuf {
    product().join("mcp-simple-aggregator")
}

/// The scripted server of this kit. Cargo builds it with the test, whatever is under test.
pub fn fake_mcp() -> PathBuf {
    beside_the_test().join("fake-mcp")
}

/// Where the shipped programs lie; a relative path starts at the root of the repository.
fn product() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| match std::env::var_os("TRUNKLINE_BIN_DIR") {
        Some(dir) => repository().join(dir),
        None => build(),
    })
}

fn repository() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("the kit is a directory of the repository")
}

/// The running test is `TARGET/PROFILE/deps/it-…`; programs, a soak among them, belong into
/// `TARGET/PROFILE`.
fn beside_the_test() -> PathBuf {
    let exe = std::env::current_exe().expect("the running test has a path");
    let dir = exe.parent().expect("the running test lies in a directory");
    match dir.ends_with("deps") {
        true => dir.parent().expect("which lies in a cargo target directory").to_owned(),
        false => dir.to_owned(),
    }
}

fn build() -> PathBuf {
    let out = beside_the_test();
    let profile = match out.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => "dev",
        Some(other) => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(repository())
        .args(["build", "--quiet", "-p", "trunkline", "--bins", "--profile", profile])
        .arg("--target-dir")
        .arg(out.parent().expect("a profile directory has a parent"))
        .status()
        .expect("cargo can be started");
    assert!(status.success(), "the programs under test do not build");
    out
}
