//! A client that sends exact bytes to a program and reads raw lines back, every wait with a limit.

use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::inbox::{Inbox, Spoken};
use crate::limit::{Deadline, Limit};
use crate::line::Line;
use crate::room::SHARED;
use crate::{GLANCE, LIMIT, scan, signals};

/// A running program with its three pipes. Dropping it kills the process and asserts nothing.
#[derive(Debug)]
pub struct Client {
    child: Mutex<Child>,
    pid: Pid,
    stdin: Mutex<Option<Sender<Vec<u8>>>>,
    inbox: Arc<Inbox>,
    spoken: Arc<Spoken>,
    next_id: AtomicU64,
}

/// What a program that has ended leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// `None`: ended by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Client {
    /// Starts a program that needs no input, and waits for its end.
    #[track_caller]
    pub fn run(command: Command) -> Finished {
        let client = Self::spawn(command);
        client.close_stdin();
        client.finish(LIMIT)
    }

    #[track_caller]
    pub fn spawn(mut command: Command) -> Self {
        command = signals::heeded(command);
        if !command.get_envs().any(|(name, _)| name == SHARED) {
            command.env(SHARED, "off");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three pipes were asked for")
        };
        // A thread of its own, so that a program which stops reading cannot stop the test.
        let (sender, pieces) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            for piece in pieces {
                if stdin.write_all(&piece).is_err() {
                    return;
                }
            }
        });
        Self {
            pid: Pid::from_child(&child),
            child: Mutex::new(child),
            stdin: Mutex::new(Some(sender)),
            inbox: Inbox::fill_from(stdout),
            spoken: Spoken::fill_from(stderr),
            next_id: AtomicU64::new(1),
        }
    }

    /// Sends exactly these bytes.
    pub fn send(&self, bytes: impl Into<Vec<u8>>) {
        let stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = stdin.as_ref() {
            // A program that has gone shows itself in what the test waits for.
            drop(sender.send(bytes.into()));
        }
    }

    /// Sends these bytes and a newline.
    pub fn send_line(&self, line: impl Into<Vec<u8>>) {
        let mut bytes = line.into();
        bytes.push(b'\n');
        self.send(bytes);
    }

    /// Sends a request given as raw bytes and waits for the answer that carries its id.
    #[track_caller]
    pub fn request(&self, raw: impl Into<Vec<u8>>) -> Line {
        let raw = raw.into();
        let id = scan::get(&raw, "id").expect("a request has an id").to_vec();
        self.send_line(raw);
        self.answer(&id, LIMIT)
    }

    /// The answer to `id` (as spelled).
    #[track_caller]
    pub fn answer(&self, id: &[u8], limit: impl Into<Limit>) -> Line {
        let what = format!("the answer to {}", String::from_utf8_lossy(id));
        self.wait_for(&what, limit, |line| line.is_answer_to(id))
    }

    /// Takes the first line that `wanted` accepts; the others stay for later.
    #[track_caller]
    pub fn wait_for(
        &self,
        what: &str,
        limit: impl Into<Limit>,
        wanted: impl FnMut(&Line) -> bool,
    ) -> Line {
        let deadline = limit.into().begin();
        self.inbox
            .take_by(deadline, wanted)
            .unwrap_or_else(|| panic!("{what} did not come within {deadline}\n{}", self.describe()))
    }

    pub fn try_wait_for(
        &self,
        limit: impl Into<Limit>,
        wanted: impl FnMut(&Line) -> bool,
    ) -> Option<Line> {
        self.inbox.take(limit, wanted)
    }

    /// Asserts that stdout has carried nothing but JSON-RPC lines.
    #[track_caller]
    pub fn assert_only_protocol(&self) {
        let faults = self.inbox.faults();
        assert!(faults.is_empty(), "stdout carried more than the protocol: {faults:#?}");
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// How many lines stdout has carried.
    pub fn lines_seen(&self) -> usize {
        self.inbox.seen()
    }

    /// Waits until stdout is closed.
    pub fn stdout_ended(&self, limit: impl Into<Limit>) -> bool {
        self.inbox.ended(limit)
    }

    pub fn stderr(&self) -> String {
        self.spoken.text()
    }

    /// Waits until stderr contains all of `parts`.
    #[track_caller]
    pub fn wait_stderr(&self, parts: &[&str], limit: impl Into<Limit>) {
        let all = |text: &str| parts.iter().all(|part| text.contains(part));
        let deadline = limit.into().begin();
        assert!(
            self.spoken.wait_by(deadline, all),
            "stderr did not say {parts:?} within {deadline}\n{}",
            self.describe()
        );
    }

    pub fn close_stdin(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    pub fn signal(&self, signal: Signal) {
        // A process that is gone already is what the signal was for.
        let _ = kill_process(self.pid, signal);
    }

    pub fn is_alive(&self) -> bool {
        matches!(self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait(), Ok(None))
    }

    #[track_caller]
    pub fn wait_exit(&self, limit: impl Into<Limit>) -> ExitStatus {
        self.wait_exit_by(limit.into().begin())
    }

    /// Does it end in this time, in which it may not?
    pub fn ends_within(&self, time: Duration) -> bool {
        crate::process::comes_true(time, || {
            let state = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            matches!(state, Ok(Some(_)))
        })
    }

    #[track_caller]
    fn wait_exit_by(&self, deadline: Deadline) -> ExitStatus {
        loop {
            let state = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
            match state {
                Ok(Some(status)) => return status,
                Ok(None) if !deadline.is_over() => std::thread::sleep(GLANCE),
                Ok(None) => panic!("no exit within {deadline}\n{}", self.describe()),
                Err(error) => panic!("cannot wait for the program: {error}"),
            }
        }
    }

    /// Waits for the exit and for the end of both outputs.
    #[track_caller]
    pub fn finish(&self, limit: impl Into<Limit>) -> Finished {
        let limit = limit.into();
        let status = self.wait_exit(limit);
        assert!(self.inbox.ended(limit), "stdout is still open\n{}", self.describe());
        assert!(self.spoken.ended(limit), "stderr is still open\n{}", self.describe());
        let stdout = std::iter::from_fn(|| self.inbox.take(Duration::ZERO, |_| true));
        let stdout: Vec<String> =
            stdout.map(|line| String::from_utf8_lossy(&line.0).into_owned()).collect();
        Finished { code: status.code(), stdout: stdout.join("\n"), stderr: self.stderr() }
    }

    /// An id nobody else uses in this session.
    pub fn fresh_id(&self) -> String {
        self.next_id.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// What is known about the program, for the message of a failed test.
    pub fn describe(&self) -> String {
        let stderr = self.stderr();
        let tail: Vec<&str> = stderr.lines().rev().take(30).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        format!(
            "-- process {} ({})\n-- stdout: {}\n-- stderr:\n{}",
            self.pid.as_raw_nonzero(),
            if self.is_alive() { "alive" } else { "gone" },
            self.inbox.describe(),
            tail.join("\n")
        )
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(child.kill());
        drop(child.wait());
    }
}
