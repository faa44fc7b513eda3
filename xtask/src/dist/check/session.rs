//! A few words of MCP with a program that was installed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

const OPEN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"dist","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;

/// What is tried leaves nothing in the home of whoever tries it.
pub(super) const PINS: &str = "TRUNKLINE_PINS";

/// How the answer to the list begins.
const LISTED: &str = r#"{"jsonrpc":"2.0","id":2,"#;

/// Opens a session, lists the tools and leaves when they are there: a server that starts on a busy machine has no time
/// left once its client has gone. Returns everything that was answered.
pub(super) fn tools(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let failed = |error: std::io::Error| format!("{shown}: {error}");
    // Its log goes to ours: a pipe that nobody reads could fill up.
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).env(PINS, "off");
    let mut child = command.spawn().map_err(|error| format!("cannot run {shown}: {error}"))?;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // One that ends at once says why on its own.
        drop(stdin.write_all(OPEN.as_bytes()));
    }
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        let mut lines = BufReader::new(stdout);
        let mut from = 0;
        while lines.read_line(&mut said).map_err(failed)? > 0 && !said[from..].starts_with(LISTED) {
            from = said.len();
        }
        drop(stdin.take());
        lines.read_to_string(&mut said).map_err(failed)?;
    }
    match child.wait().map_err(failed)?.success() {
        true => Ok(said),
        false => Err(format!("{shown}\n{said}")),
    }
}

/// A config with one server: the clock inside the program.
pub(super) fn config(program: &Path) -> String {
    let program = program.display();
    format!(
        r#"{{"mcpServers":{{"clock":{{"command":"{program}","args":["demo-server","clock"]}}}}}}"#
    )
}
