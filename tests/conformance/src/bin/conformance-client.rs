//! Drives the gateway before a server of the suite: `conformance-client ERA PROGRAM CONFIG URL`.

use std::process::ExitCode;

use conformance::Client;
use serde_json::Value;

const USAGE: &str = "usage: conformance-client legacy|modern PROGRAM CONFIG URL";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-client: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The suite appends the URL, and says in the environment which scenario this is.
fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [era, program, config, url] = arguments.as_slice() else {
        return Err(USAGE.to_owned());
    };
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let client = Client {
        program: program.into(),
        config: config.into(),
        era: era.parse()?,
        url: url.clone(),
        scenario: said("MCP_CONFORMANCE_SCENARIO"),
        context: serde_json::from_str(&said("MCP_CONFORMANCE_CONTEXT")).unwrap_or(Value::Null),
    };
    conformance::run_client(&client)
}
