//! The owner under test: `examples/keep.rs`, told what to do line by line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use kit::limit::Limit;
use rustix::process::Pid;

use crate::table::{Table, wait_until};
use crate::{PATIENCE, PROMISED, STUBBORN, STUBBORN_PROCESSES};

pub(crate) struct Owner {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    /// Lines that came before they were waited for: what they are about, and the rest.
    heard: HashMap<String, String>,
    mark: String,
}

pub(crate) struct Started {
    pub(crate) keeper: Pid,
    pub(crate) server: Pid,
}

impl Owner {
    pub(crate) fn start() -> Owner {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("custody-{}-{count}", std::process::id());
        let mut child = start(&mark);
        let stdin = child.stdin.take().unwrap();
        let lines = listen(child.stdout.take().unwrap());
        Owner { child, stdin, lines, heard: HashMap::new(), mark }
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// Starts stubborn trees and waits until all of their processes are there.
    pub(crate) fn start_stubborn(&mut self, names: &[&str]) -> Vec<Started> {
        let expected = self.servers() + names.len() * STUBBORN_PROCESSES;
        for name in names {
            self.spawn_sh(name, STUBBORN);
        }
        let started = names.iter().map(|name| self.started(name)).collect();
        wait_until(PATIENCE, "all processes of the trees", || self.servers() == expected);
        started
    }

    pub(crate) fn spawn_sh(&mut self, name: &str, script: &str) {
        // A line break would end the order.
        self.tell(&["spawn", name, "", "sh", "-c", &script.replace('\n', ";").replace("&;", "&")]);
    }

    pub(crate) fn started(&mut self, name: &str) -> Started {
        let told = self.hear(&format!("started {name}"), PATIENCE);
        let mut pids = told.split(' ').map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap());
        Started { keeper: pids.next().unwrap(), server: pids.next().unwrap() }
    }

    pub(crate) fn tell(&mut self, fields: &[&str]) {
        writeln!(self.stdin, "{}", fields.join("\t")).unwrap();
    }

    /// Waits for a line about something, such as `exited NAME`, and returns the rest of it.
    #[track_caller]
    pub(crate) fn hear(&mut self, about: &str, limit: impl Into<Limit>) -> String {
        self.hear_any(&[about], limit)
    }

    #[track_caller]
    pub(crate) fn hear_any(&mut self, abouts: &[&str], limit: impl Into<Limit>) -> String {
        let deadline = limit.into().begin();
        loop {
            if let Some(rest) = abouts.iter().find_map(|&about| self.heard.remove(about)) {
                return rest;
            }
            let line = match self.lines.recv_timeout(deadline.left()) {
                Ok(line) => line,
                // It may be longer than it looked.
                Err(RecvTimeoutError::Timeout) if !deadline.is_over() => continue,
                Err(_) => {
                    panic!("waited {deadline} in vain for {abouts:?}; heard {:?}", self.heard)
                }
            };
            let mut words = line.splitn(3, ' ');
            let about = format!("{} {}", words.next().unwrap(), words.next().unwrap());
            self.heard.insert(about, words.next().unwrap_or_default().to_owned());
        }
    }

    /// Living processes of all servers: those with our mark in their environment.
    pub(crate) fn servers(&self) -> usize {
        let mark = format!("MARK={}", self.mark);
        let marked =
            |environ: &[u8]| environ.split(|&byte| byte == 0).any(|v| v == mark.as_bytes());
        Table::read().with("environ", marked).len()
    }

    /// One keeper, unless it was killed: then none, or a new one.
    pub(crate) fn keepers(&self) -> Vec<Pid> {
        // What follows is what the keeper is told: the limit of open files for servers.
        let line = format!("tl-keeper\0__keeper\0{}\0", self.pid()).into_bytes();
        Table::read().with("cmdline", |cmdline| cmdline.starts_with(&line))
    }

    pub(crate) fn keeper(&self) -> Option<Pid> {
        // A server that is being started is a copy of the keeper until it executes its program.
        let ours = Table::read().children(self.pid());
        self.keepers().into_iter().find(|keeper| ours.contains(keeper))
    }

    /// Ended and not reaped, under the owner or the keeper. What a living server does not reap of what
    /// it has adopted is its own affair.
    pub(crate) fn zombies(&self) -> Vec<Pid> {
        let mut parents = self.keepers();
        parents.push(self.pid());
        Table::read().zombies(&parents)
    }

    pub(crate) fn descriptors(&self) -> usize {
        Table::descriptors(self.pid())
    }

    /// The owner was killed: so must be all servers and the keeper, within the promised time.
    #[track_caller]
    pub(crate) fn leaves_nothing(&mut self) {
        let deadline = PROMISED.begin();
        self.child.wait().unwrap();
        wait_until(PATIENCE, "nothing is left", || {
            self.servers() == 0 && self.keepers().is_empty()
        });
        assert!(!deadline.is_over(), "not within {deadline}");
    }
}

/// A failed test must not leave processes either; that is for the keeper to see to.
impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "the owner under test is no server")]
fn start(mark: &str) -> Child {
    let mut command = Command::new(keep());
    command.arg(mark).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("examples/keep is built by a plain `cargo test`")
}

/// Next to this test, which is in `target/debug/deps`.
pub(crate) fn keep() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/keep")
}

fn listen(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
