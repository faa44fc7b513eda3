//! A newcomer's way from `git clone` to the first tool call through Claude Code, as the README has it:
//! what is typed, what comes out, and how long each step takes.
//!
//! Nothing of the machine counts but its programs: the clone, what is built, the home and the client's
//! settings are in a folder that is removed again. Only the model is not real (`model`): it calls one
//! tool and says what it got.

mod model;
mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::announce;
use model::Model;
use serving::Serving;

const USAGE: &str = "usage: cargo xtask first-call [--program PATH] [--keep]

  --program PATH  a `trunkline` that is built already: without clone and build
  --keep          leave the folder, and say where it is";

/// A Node that the client takes; and the client, from the registry as its users get it.
const CLIENT: [&str; 2] = ["node@24", "@anthropic-ai/claude-code@latest"];
/// What the model wants to have done, as Claude Code calls it.
const TOOL: &str = "mcp__demo__clock__now";

pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut program, mut keep, mut rest) = (None, false, arguments.iter());
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--program" => program = Some(PathBuf::from(rest.next().ok_or(USAGE)?)),
            "--keep" => keep = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let folder = std::env::temp_dir().join(format!("trunkline-first-call-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("home")).map_err(|error| error.to_string())?;
    let mut journey = Journey { folder: folder.clone(), steps: Vec::new() };
    let outcome = journey.go(program.as_deref());
    match keep {
        true => println!("left: {}", folder.display()),
        false => drop(std::fs::remove_dir_all(&folder)),
    }
    outcome.map(|said| journey.tell(&said))
}

struct Journey {
    folder: PathBuf,
    /// What was typed, and how long it took.
    steps: Vec<(String, Duration)>,
}

impl Journey {
    /// The last words of the client.
    fn go(&mut self, program: Option<&Path>) -> Result<String, String> {
        announce(&format!("before the clock starts: npm install {}", CLIENT.join(" ")));
        let client = self.folder.join("client");
        let mut path = vec![self.folder.join("bin"), client.join("node_modules/.bin")];
        // One after the other: npm chooses the newest that its Node takes.
        for package in CLIENT {
            let mut npm = self.command(&path, &self.folder);
            npm.args(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]);
            // The user's own home says where the registry is.
            npm.env("HOME", std::env::var_os("HOME").unwrap_or_default());
            output(npm.arg(&client).arg(package))?;
        }
        let clone = self.folder.join("trunkline");
        match program {
            Some(program) => path.insert(0, parent(program)?),
            None => {
                let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
                let from = from.canonicalize().map_err(|error| error.to_string())?;
                let from = from.display().to_string();
                self.step(&path, &self.folder.clone(), "git clone REPOSITORY", |command| {
                    command.args(["git", "clone", "--quiet", &from, "trunkline"]);
                })?;
                let root = self.folder.display().to_string();
                self.step(&path, &clone, "cargo install --locked --path crates/app", |command| {
                    let arguments =
                        ["cargo", "install", "--quiet", "--locked", "--path", "crates/app"];
                    command.args(arguments).args(["--root", &root]);
                    command.env("CARGO_TARGET_DIR", "target");
                    // Of the user's own; the home of this journey has none.
                    keep_rust(command);
                })?;
            }
        }
        let begun = Instant::now();
        let mut demo = self.command(&path, &self.folder.join("home"));
        demo.args(["trunkline", "serve", "--demo", "--listen", "127.0.0.1:0"]);
        // What it keeps while it runs goes with the folder.
        demo.env("TMPDIR", &self.folder);
        let serving = Serving::start(&mut demo)?;
        self.took("trunkline serve --demo", begun);
        let model = Model::start(TOOL)?;
        let home = self.folder.join("home");
        let url = format!("{}/mcp/for/claude-code", serving.address());
        let add = format!("claude mcp add --transport http demo {url}");
        self.step(&path, &home, &add, |command| {
            command.args(add.split(' '));
        })?;
        let ask = format!("claude -p \"What time is it?\" --allowedTools {TOOL}");
        let said = self.step(&path, &home, &ask, |command| {
            command.args(["claude", "-p", "What time is it?", "--allowedTools", TOOL]);
            model.instead_of_a_real_one(command);
        })?;
        match model.got() {
            Some(result) if result.contains("weekday") => Ok(said),
            Some(other) => Err(format!("the tool gave something else: {other}")),
            None => Err(format!("no tool was called; the client said: {said}")),
        }
    }

    fn step(
        &mut self,
        path: &[PathBuf],
        folder: &Path,
        typed: &str,
        made: impl FnOnce(&mut Command),
    ) -> Result<String, String> {
        println!("$ {typed}");
        let mut command = self.command(path, folder);
        made(&mut command);
        let begun = Instant::now();
        let said = output(&mut command)?;
        self.took(typed, begun);
        print!("{said}");
        Ok(said)
    }

    fn took(&mut self, typed: &str, begun: Instant) {
        self.steps.push((typed.to_owned(), begun.elapsed()));
    }

    /// A program of `path`, in a home that is empty. The name comes as the first argument.
    fn command(&self, path: &[PathBuf], folder: &Path) -> Command {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let path = path.iter().cloned().chain(std::env::split_paths(&usual));
        let mut command = Command::new("env");
        if let Ok(path) = std::env::join_paths(path) {
            command.env("PATH", path);
        }
        command.current_dir(folder).env("HOME", self.folder.join("home")).stdin(Stdio::null());
        command
    }

    fn tell(&self, said: &str) {
        println!("\n{:>9}  typed", "seconds");
        for (typed, took) in &self.steps {
            println!("{:>9.1}  {typed}", took.as_secs_f64());
        }
        let all: Duration = self.steps.iter().map(|(_, took)| *took).sum();
        println!("{:>9.1}  in all; the client said: {}", all.as_secs_f64(), said.trim());
    }
}

/// Where cargo keeps what it has, which a newcomer has as well.
fn keep_rust(command: &mut Command) {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (name, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        command.env(name, std::env::var_os(name).map_or_else(|| home.join(usual), PathBuf::from));
    }
}

fn parent(program: &Path) -> Result<PathBuf, String> {
    let program =
        program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    program.parent().map(Path::to_owned).ok_or_else(|| USAGE.to_owned())
}

fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{shown}\n{said}{}", String::from_utf8_lossy(&output.stderr))),
    }
}
