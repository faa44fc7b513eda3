//! A few words of MCP with a program that was installed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const OPEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"dist","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

/// Opens a session, lists the tools and leaves; everything that was answered.
pub(super) fn tools(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends at once says why on its own.
        drop(stdin.write_all(OPEN.as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| format!("{shown}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{shown}\n{said}\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A config with one server: the clock inside the program.
pub(super) fn config(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"{{"mcpServers":{{"clock":{{"command":"{program}","args":["demo-server","clock"]}}}}}}"#
    )
}
