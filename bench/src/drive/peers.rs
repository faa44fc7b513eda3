//! Other aggregators, measured beside us where they install and can serve many servers over one endpoint.

use std::fs;
use std::path::{Path, PathBuf};

/// A peer that can take part.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    /// Name and version.
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// Its arguments over stdio; the configuration file takes the place of `CONFIG`.
    pub(super) args: &'static [&'static str],
    /// Its arguments over HTTP, at the port that takes the place of `PORT`.
    pub(super) http_args: &'static [&'static str],
    /// What stands between server and tool in its tool names.
    pub(super) separator: &'static str,
}

/// What the peers' directory offers.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) peers: Vec<Peer>,
    /// Name and reason of those that cannot take part.
    pub(super) absent: Vec<(String, String)>,
}

pub(super) const CONFIG: &str = "{config}";
pub(super) const PORT: &str = "{port}";

struct Known {
    package: &'static str,
    /// What distinguishes it from another entry of the same package.
    variant: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    http_args: &'static [&'static str],
    separator: &'static str,
}

/// FastMCP's command starts the children anew for every request; with a connected client it keeps them.
const ONE_SESSION: &str = "
import asyncio, json, sys
from fastmcp import Client
from fastmcp.server import create_proxy
async def main():
    async with Client(json.load(open(sys.argv[1]))) as client:
        await create_proxy(client).run_stdio_async(show_banner=False)
asyncio.run(main())
";

const ONE_SESSION_HTTP: &str = "
import asyncio, json, sys
from fastmcp import Client
from fastmcp.server import create_proxy
async def main():
    async with Client(json.load(open(sys.argv[1]))) as client:
        await create_proxy(client).run_http_async(show_banner=False, port=int(sys.argv[2]), path='/mcp')
asyncio.run(main())
";

/// Peers that serve many servers over one stdio, and over HTTP.
const KNOWN: &[Known] = &[
    Known {
        package: "fastmcp",
        variant: "run",
        program: "venv/bin/fastmcp",
        args: &["run", CONFIG, "--no-banner", "--skip-env"],
        http_args: &[
            "run",
            CONFIG,
            "--no-banner",
            "--skip-env",
            "--transport",
            "http",
            "--port",
            PORT,
        ],
        separator: "_",
    },
    Known {
        package: "fastmcp",
        variant: "one session",
        program: "venv/bin/python",
        args: &["-c", ONE_SESSION, CONFIG],
        http_args: &["-c", ONE_SESSION_HTTP, CONFIG, PORT],
        separator: "_",
    },
];

/// Quiet: nobody should be slowed down by its own log.
pub(super) const ENVIRONMENT: &[(&str, &str)] =
    &[("FASTMCP_LOG_LEVEL", "ERROR"), ("FASTMCP_CHECK_FOR_UPDATES", "off")];

/// Peers that do not, with the reason.
const UNFIT: &[(&str, &str)] = &[
    (
        "mcp-proxy (PyPI)",
        "several servers only over SSE/HTTP, each under its own path: it does not aggregate",
    ),
    (
        "mcp-hub (npm)",
        "not over stdio: serves HTTP only (`--port` is required); not measured over HTTP",
    ),
    (
        "1MCP (npm `@1mcp/agent`)",
        "not installable: the registry did not have it (tried November 2026)",
    ),
];

pub(super) fn find(directory: &Path) -> Found {
    let mut found = Found::default();
    for known in KNOWN {
        let program = directory.join(known.program);
        let Some(version) = python_version(directory, known.package).filter(|_| program.exists())
        else {
            let reason = "not installed in the peers' directory".to_owned();
            found.absent.push((known.package.to_owned(), reason));
            continue;
        };
        let name = format!("{} {version}, {}", known.package, known.variant);
        let Known { args, http_args, separator, .. } = *known;
        found.peers.push(Peer { name, program, args, http_args, separator });
    }
    found.absent.extend(UNFIT.iter().map(|&(name, reason)| (name.to_owned(), reason.to_owned())));
    found
}

/// From the name of the package's `.dist-info` directory.
fn python_version(directory: &Path, package: &str) -> Option<String> {
    let python = fs::read_dir(directory.join("venv/lib")).into_iter().flatten().flatten();
    let packages = python
        .flat_map(|entry| fs::read_dir(entry.path().join("site-packages")))
        .flatten()
        .flatten();
    let names = packages.filter_map(|entry| entry.file_name().into_string().ok());
    let mut versions = names.filter_map(|name| {
        let version = name.strip_prefix(package)?.strip_prefix('-')?.strip_suffix(".dist-info")?;
        Some(version.to_owned())
    });
    versions.next()
}
