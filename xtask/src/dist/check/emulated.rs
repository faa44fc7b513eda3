//! Programs of another processor, started and called under an emulator where there is one.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::holds;
use crate::dist::Dist;
use crate::dist::programs::{Programs, output};

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let mut said = Vec::new();
    for programs in dist.programs.iter().filter(|it| !it.platform.is_here()) {
        let platform = programs.platform;
        match programs.command("trunkline") {
            None => said.push(format!("{platform} was not tried: there is no emulator for it")),
            Some(_) => {
                tried(programs, place)?;
                said.push(format!("{platform} was started and called"));
            }
        }
    }
    match said.is_empty() {
        true => Ok("every program is for this machine".to_owned()),
        false => Ok(said.join("; ")),
    }
}

/// The demo has its servers inside the program: an emulator that the kernel does not know of need not be found
/// for the programs that a program starts.
fn tried(programs: &Programs, place: &Path) -> Result<(), String> {
    let command = || programs.command("trunkline").ok_or("there is no emulator");
    holds(&output(command()?.arg("--version"))?, &[&programs.version])?;
    let mut serve = command()?;
    serve.args(["serve", "--demo", "--listen", "127.0.0.1:0"]).current_dir(place);
    serve.env("HOME", place).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut serving = Serving(serve.spawn().map_err(|error| error.to_string())?);
    let address = serving.address()?;
    let url = format!("{address}/mcp");
    let call = ["call", "weather.forecast", "--url", &url, "city=Rome", "days=2"];
    holds(&output(command()?.args(call).env("HOME", place))?, &["Rome"])
}

/// A `serve` that ends with its trial.
struct Serving(Child);

impl Serving {
    /// What it prints first.
    fn address(&mut self) -> Result<String, String> {
        let mut lines = BufReader::new(self.0.stdout.take().ok_or("no output")?);
        let mut said = String::new();
        while lines.read_line(&mut said).map_err(|error| error.to_string())? > 0 {
            let found = said.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
            if let Some(found) = found {
                let address = found.trim_end_matches(['/', '.', ',']).to_owned();
                // A full pipe would hold it up.
                std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
                return Ok(address);
            }
        }
        Err(format!("`serve --demo` said no address:\n{said}"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let kill = Command::new("kill").arg(self.0.id().to_string()).status();
        if kill.is_err() {
            drop(self.0.kill());
        }
        drop(self.0.wait());
    }
}
