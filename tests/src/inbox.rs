//! What a program has written so far, and waiting for more of it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::limit::{Deadline, Limit};
use crate::line::Line;

/// Lines of stdout nobody has taken yet. A thread fills it, so the program never blocks on us.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Line>,
    faults: Vec<String>,
    seen: usize,
    ended: bool,
}

impl Inbox {
    pub fn fill_from(source: impl Read + Send + 'static) -> Arc<Self> {
        let inbox = Arc::new(Self::default());
        let filled = Arc::clone(&inbox);
        std::thread::spawn(move || filled.fill(BufReader::with_capacity(1 << 16, source)));
        inbox
    }

    /// One more message, from a transport that has no lines.
    pub fn push(&self, line: Line) {
        let fault = line.fault();
        self.add(line, fault);
    }

    /// Something that is no message at all.
    pub fn complain(&self, fault: String) {
        self.lock().faults.push(fault);
    }

    /// Nothing more will come.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Takes the first waiting line that `wanted` accepts; the others stay.
    pub fn take(&self, limit: impl Into<Limit>, wanted: impl FnMut(&Line) -> bool) -> Option<Line> {
        self.take_by(limit.into().begin(), wanted)
    }

    /// [`Inbox::take`] in a wait that has begun.
    pub(crate) fn take_by(
        &self,
        deadline: Deadline,
        mut wanted: impl FnMut(&Line) -> bool,
    ) -> Option<Line> {
        let mut state = self.lock();
        let mut looked_at = 0;
        loop {
            while looked_at < state.waiting.len() {
                if wanted(&state.waiting[looked_at]) {
                    return state.waiting.remove(looked_at);
                }
                looked_at += 1;
            }
            let left = deadline.left();
            if left.is_zero() || state.ended {
                return None;
            }
            state = self.wait(state, left);
        }
    }

    /// Waits until the program has closed its stdout.
    pub fn ended(&self, limit: impl Into<Limit>) -> bool {
        let deadline = limit.into().begin();
        let mut state = self.lock();
        while !state.ended {
            let left = deadline.left();
            if left.is_zero() {
                return false;
            }
            state = self.wait(state, left);
        }
        true
    }

    /// Every line so far that was not a JSON-RPC message.
    pub fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    /// How many lines have come in all.
    pub fn seen(&self) -> usize {
        self.lock().seen
    }

    /// What waits, for the message of a failed test.
    pub fn describe(&self) -> String {
        let state = self.lock();
        let shown: Vec<String> =
            state.waiting.iter().take(20).map(|line| format!("    {line}")).collect();
        format!(
            "{} lines seen, {} waiting, stdout {}\n{}",
            state.seen,
            state.waiting.len(),
            if state.ended { "closed" } else { "open" },
            shown.join("\n")
        )
    }

    fn fill(&self, mut source: impl BufRead) {
        loop {
            let mut bytes = Vec::new();
            let read = source.read_until(b'\n', &mut bytes);
            if !matches!(read, Ok(count) if count > 0) {
                return self.end();
            }
            let terminated = bytes.last() == Some(&b'\n');
            if terminated {
                bytes.pop();
            }
            let line = Line(bytes);
            let fault = if terminated { line.fault() } else { Some("no newline at its end") };
            self.add(line, fault);
        }
    }

    fn add(&self, line: Line, fault: Option<&str>) {
        let mut state = self.lock();
        state.seen += 1;
        if let Some(fault) = fault {
            state.faults.push(format!("{fault}: {line}"));
        }
        state.waiting.push_back(line);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, left: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, left).expect("no holder panics").0
    }
}

/// Everything a program has written to stderr.
#[derive(Debug, Default)]
pub struct Spoken {
    state: Mutex<SpokenState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SpokenState {
    bytes: Vec<u8>,
    ended: bool,
}

impl Spoken {
    pub fn fill_from(mut source: impl Read + Send + 'static) -> Arc<Self> {
        let spoken = Arc::new(Self::default());
        let filled = Arc::clone(&spoken);
        std::thread::spawn(move || {
            let mut chunk = vec![0; 1 << 14];
            while let Ok(count @ 1..) = source.read(&mut chunk) {
                filled.lock().bytes.extend_from_slice(&chunk[..count]);
                filled.changed.notify_all();
            }
            filled.lock().ended = true;
            filled.changed.notify_all();
        });
        spoken
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().bytes).into_owned()
    }

    /// Waits until `wanted` accepts the whole text.
    pub fn wait(&self, limit: impl Into<Limit>, wanted: impl Fn(&str) -> bool) -> bool {
        self.wait_by(limit.into().begin(), wanted)
    }

    /// [`Spoken::wait`] in a wait that has begun.
    pub(crate) fn wait_by(&self, deadline: Deadline, wanted: impl Fn(&str) -> bool) -> bool {
        self.wait_state(deadline, |state| wanted(&String::from_utf8_lossy(&state.bytes)))
    }

    /// Waits until the program has closed its stderr.
    pub fn ended(&self, limit: impl Into<Limit>) -> bool {
        self.wait_state(limit.into().begin(), |state| state.ended)
    }

    fn wait_state(&self, deadline: Deadline, wanted: impl Fn(&SpokenState) -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if wanted(&state) {
                return true;
            }
            let left = deadline.left();
            if left.is_zero() || state.ended {
                return false;
            }
            state = self.changed.wait_timeout(state, left).expect("no holder panics").0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, SpokenState> {
        self.state.lock().expect("no holder panics")
    }
}
