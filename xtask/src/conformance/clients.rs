//! The suite's servers behind `trunkline`, which a small client speaks to in either era.

use super::{MODERN, fresh, suite};
use crate::conformance::programs::program;
use crate::run;

/// How the client speaks.
pub(super) const ERAS: [&str; 2] = ["legacy", "modern"];

/// Those required of a client that have nothing to do with authorization.
const SCENARIOS: &[&str] = &[
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
];

pub(super) fn name(era: &&str) -> String {
    format!("client-{era}")
}

pub(super) fn judge(era: &&str) -> Result<(), String> {
    let name = name(era);
    run::announce(&format!("conformance {name}: servers of {MODERN} behind a {era} client"));
    let place = fresh(&name)?;
    let mut faults = Vec::new();
    for scenario in SCENARIOS {
        let config = place.join(format!("{scenario}.json"));
        // The suite gives the line to a shell, with the URL at its end.
        let parts = [program("conformance-client"), era.into(), program("trunkline"), config];
        let line = parts.map(|part| format!("'{}'", part.display())).join(" ");
        faults.extend(suite::one_client_scenario(scenario, MODERN, &line, &place).err());
    }
    let failed = faults.len();
    println!("{} scenarios: {} passed, {failed} failed", SCENARIOS.len(), SCENARIOS.len() - failed);
    match faults.as_slice() {
        [] => Ok(()),
        faults => Err(format!("{name}: {}; see {}", faults.join(", "), place.display())),
    }
}
