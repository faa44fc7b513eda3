//! `examples/writer.rs`: a process of its own that writes to a store.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Long, because it is only reached when a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Writer {
    process: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Writer {
    pub(crate) fn start(path: &Path) -> Self {
        Self::from(Command::new(Self::program()).arg(path))
    }

    /// Beside the folder of the tests' own program.
    pub(crate) fn program() -> PathBuf {
        let tests = std::env::current_exe().unwrap();
        let program = tests.ancestors().nth(2).unwrap().join("examples/writer");
        assert!(program.exists(), "{}: build it with `--examples`", program.display());
        program
    }

    #[expect(clippy::disallowed_methods, reason = "the keeper is for what the product starts")]
    fn from(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn().unwrap();
        let stdin = process.stdin.take().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (heard, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if heard.send(line).is_err() {
                    break;
                }
            }
        });
        Self { process, stdin, lines }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    pub(crate) fn hear(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the writer says nothing")
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }

    pub(crate) fn hear_for(&mut self, time: Duration) -> Vec<String> {
        let until = Instant::now() + time;
        let mut heard = Vec::new();
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => heard.push(line),
                Err(RecvTimeoutError::Timeout) => return heard,
                Err(RecvTimeoutError::Disconnected) => panic!("the writer has ended"),
            }
        }
    }

    /// With SIGKILL. Returns what it still had said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // The pipe ends with the process, and with it the lines.
        self.lines.iter().collect()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A writer that sees two megabytes of memory as a disk at this place, after something was done to
/// it. Nobody else sees it, and it is gone when the writer is.
pub(crate) fn on_a_small_disk(disk: &Path, prepare: &str, store: &Path) -> Writer {
    let script = format!(
        "mount -t tmpfs -o size=2m none {} && {prepare} && exec {} {}",
        disk.display(),
        Writer::program().display(),
        store.display()
    );
    Writer::from(
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount"])
            .args(["sh", "-c", &script]),
    )
}
