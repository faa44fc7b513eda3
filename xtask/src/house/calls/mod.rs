//! The files on the way of a `tools/call`, as they run: an instrumented program answers some calls,
//! then a thousand more. A file whose lines ran once for each of these is on the way.

mod client;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::coverage::{
    inside,
    tools::{self, Tools},
};
use crate::{conformance, run};
use client::{Http, Stdio};
use server::Server;

/// Before anything is counted: sessions, caches and connections are there.
const BEFORE: usize = 50;
const COUNTED: usize = 1000;
/// What ran a little less often ran for every call: the last one may not be over when we look.
const FEWEST: u64 = 990;

/// What ran through for every call, by file.
#[derive(Default)]
pub(super) struct Ways {
    pub(super) stdio: Vec<String>,
    pub(super) http: Vec<String>,
}

/// Of the checkout at `root`, built in the folder `place` of the target folder: cargo takes the same
/// crate of two checkouts for one.
pub(super) fn measure(root: &Path, place: &str) -> Result<Ways, String> {
    let place = std::path::absolute(conformance::target().join(place));
    let place = place.map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let tools = Tools::find()?;
    tools::write_wrapper(&place)?;
    let mut cargo = run::our_cargo();
    let arguments = "build --locked -p trunkline --bins";
    cargo.args(arguments.split(' ')).current_dir(root).env("CARGO_TARGET_DIR", &place);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", tools::wrapper(&place));
    run::checked(&mut cargo, &format!("cargo {arguments} (instrumented)"))?;
    let trial = Trial { place, tools };
    let server = Server::start()?;
    let stdio = trial.files("stdio", |program, config| {
        let script = std::path::absolute(root.join("examples/servers/clock.py"));
        let script = script.map_err(|error| error.to_string())?;
        write(
            config,
            &format!("{{\"command\":\"python3\",\"args\":[{:?}]}}", script.display().to_string()),
        )?;
        Stdio::start(program, config)
    })?;
    let http = trial.files("http", |program, config| {
        write(config, &format!("{{\"type\":\"http\",\"url\":\"{}\"}}", server.url()))?;
        Http::start(program, config)
    })?;
    Ok(Ways { stdio, http })
}

fn write(config: &Path, entry: &str) -> Result<(), String> {
    let text = format!("{{\"mcpServers\":{{\"s\":{entry}}}}}");
    std::fs::write(config, text).map_err(|error| format!("{}: {error}", config.display()))
}

/// A client with a session that has been opened.
trait Client {
    fn call(&mut self) -> Result<(), String>;
    /// The process of the product.
    fn process(&self) -> u32;
}

struct Trial {
    place: PathBuf,
    tools: Tools,
}

impl Trial {
    /// The files on the way of this client's calls.
    fn files<C: Client>(
        &self,
        name: &str,
        start: impl FnOnce(&mut Command, &Path) -> Result<C, String>,
    ) -> Result<Vec<String>, String> {
        let folder = self.place.join(format!("way-{name}"));
        drop(std::fs::remove_dir_all(&folder));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let mut program = Command::new(self.place.join("debug/trunkline"));
        // `%c`: the counters are in the file while the program runs.
        program.env("LLVM_PROFILE_FILE", folder.join("%p%c.profraw"));
        let mut client = start(&mut program, &folder.join("config.json"))?;
        let profile = folder.join(format!("{}.profraw", client.process()));
        let mut runs = Vec::new();
        for (label, calls) in [("before", BEFORE), ("after", COUNTED)] {
            run::announce(&format!("{calls} calls over {name}"));
            (0..calls).try_for_each(|_| client.call())?;
            let copies = folder.join(label);
            std::fs::create_dir_all(&copies).map_err(failed)?;
            std::fs::copy(&profile, copies.join("copy.profraw")).map_err(failed)?;
            runs.push(self.counts(&copies)?);
        }
        drop(client);
        let (before, after) = (&runs[0], &runs[1]);
        let ran = after.iter().filter(|(line, count)| {
            let earlier = before.get(line).copied().unwrap_or(0);
            count.saturating_sub(earlier) >= FEWEST
        });
        let mut files: Vec<String> = ran.map(|((file, _), _)| file.clone()).collect();
        files.dedup();
        Ok(files)
    }

    /// How often each line of the product ran.
    fn counts(&self, copies: &Path) -> Result<BTreeMap<(String, usize), u64>, String> {
        let merged = copies.with_extension("profdata");
        self.tools.merge(&[copies.to_owned()], &merged)?;
        let lcov = self.tools.lcov(&merged, &[self.place.join("debug/trunkline")])?;
        Ok(counted(&lcov))
    }
}

fn counted(lcov: &str) -> BTreeMap<(String, usize), u64> {
    let mut counts = BTreeMap::new();
    let mut file = None;
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = inside(path).map(|path| path.display().to_string());
        } else if let (Some((number, count)), Some(file)) = (counted_line(line), &file) {
            counts.insert((file.clone(), number), count);
        }
    }
    counts
}

/// `DA:line,count`
fn counted_line(line: &str) -> Option<(usize, u64)> {
    let (number, count) = line.strip_prefix("DA:")?.split_once(',')?;
    Some((number.parse().ok()?, count.parse().ok()?))
}
