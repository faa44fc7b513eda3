//! Installs what the tests talk to, from the package registries, under `target/peers`: MCP servers
//! and clients nobody here wrote, readers of our `OpenAPI`, and the conformance suite. Versions are
//! pinned; nothing is installed twice, and nothing is fetched when the tests run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

const NPM: &[&str] = &[
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    // clients: both generations of the official SDK, and the Inspector
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    // what reads the manifest of our bundle
    "@anthropic-ai/mcpb@2.1.2",
    // the Inspector and the suite need a newer Node than many machines have
    "node@24.9.0",
];
const PYPI: &[&str] = &[
    "mcp-server-time==2026.10.19",
    "mcp-server-git==2026.10.19",
    // clients: the official SDK and FastMCP
    "mcp==2.3.0",
    "fastmcp==4.1.2",
    // what reads the OpenAPI document: a fuzzer of the API, and a generator of clients for it
    "schemathesis==4.32.5",
    "openapi-python-client==0.29.1",
    // what reads the schema of the config file
    "jsonschema==4.26.0",
    // what reads traces: the message types of OpenTelemetry
    "opentelemetry-proto==1.45.2",
];

/// Peers of the benchmark only.
const NPM_BENCH: &[&str] = &[];
const PYPI_BENCH: &[&str] = &["fastmcp==4.1.2"];

/// Clients that people use, and what starts Python servers: for `first-hour` only.
const NPM_CLIENTS: &[&str] =
    &["node@24.9.0", "@anthropic-ai/claude-code@2.1.328", "@openai/codex@0.169.0"];
const PYPI_CLIENTS: &[&str] = &["uv==0.13.8"];

/// What the tests need.
pub fn install() -> Result<(), String> {
    into(&place(), NPM, PYPI)
}

/// What the benchmark compares with. Returns where it is.
pub fn install_for_bench() -> Result<PathBuf, String> {
    let place = place();
    into(&place, NPM, PYPI)?;
    let bench = place.join("bench");
    into(&bench, NPM_BENCH, PYPI_BENCH)?;
    Ok(bench)
}

/// The clients of the first hour. Returns where they are.
pub fn install_clients() -> Result<PathBuf, String> {
    let clients = place().join("clients");
    into(&clients, NPM_CLIENTS, PYPI_CLIENTS)?;
    clients.canonicalize().map_err(|error| format!("{}: {error}", clients.display()))
}

/// Where everything is installed.
pub fn place() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers")
}

fn into(place: &Path, npm: &[&str], pypi: &[&str]) -> Result<(), String> {
    let wanted = format!("{}\n{}\n", npm.join(" "), pypi.join(" "));
    let stamp = place.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    if !npm.is_empty() {
        let mut command = Command::new("npm");
        // What was fetched before is taken from there: versions are pinned.
        command.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
            "--prefer-offline",
        ]);
        // Engine warnings are about the Node that runs npm; the packages run on the one above.
        command.arg("--loglevel=error");
        command.arg("--prefix").arg(place).args(npm);
        run::checked(&mut command, &format!("npm install {}", npm.join(" ")))?;
    }
    if !pypi.is_empty() {
        let venv = place.join("venv");
        let mut command = Command::new("python3");
        run::checked(command.args(["-m", "venv"]).arg(&venv), "python3 -m venv")?;
        let mut command = Command::new(venv.join("bin/pip"));
        // Most of what is installed is never imported, and need not be compiled.
        command.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
        command.args(pypi);
        run::checked(&mut command, &format!("pip install {}", pypi.join(" ")))?;
    }
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}
