//! Others on the same machine while calls are measured: clients that search, or threads that only count.

use crate::drive::launch;
use crate::drive::rest::Rest;
use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    None,
    /// One question after the other, as fast as they are answered.
    Search,
    /// Takes a processor and nothing else.
    Count,
}

/// What is asked, over and over: words that every tool has, a name, and words that none has.
const QUESTIONS: [&str; 4] =
    ["echo a text of the wanted size", "s7.tool_512", "create an issue on GitHub", "qwrtz"];

#[derive(Debug)]
pub(super) struct Neighbours {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    done: AtomicU64,
}

impl Neighbours {
    /// When this returns, all of them are at work; those who search have had an answer each.
    pub(super) fn start(port: u16, work: Work, count: usize) -> Result<Self, String> {
        let shared = Arc::new(Shared::default());
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut rest = Rest::to(port, launch::ADMIN)?;
            let shared = Arc::clone(&shared);
            if work == Work::Search {
                search(&mut rest, 0)?;
            }
            threads.push(thread::spawn(move || match work {
                Work::None => Ok(()),
                Work::Search => shared.until_over(|number| search(&mut rest, number)),
                Work::Count => shared.until_over(|_| {
                    black_box((0..10_000).fold(0_u64, |sum, number| sum ^ black_box(number)));
                    Ok(())
                }),
            }));
        }
        Ok(Self { shared, threads })
    }

    /// Pieces of work done so far.
    pub(super) fn done(&self) -> u64 {
        self.shared.done.load(Ordering::Relaxed)
    }

    /// Ends them; an error if one of them has failed.
    pub(super) fn end(mut self) -> Result<(), String> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let ended: Vec<_> =
            std::mem::take(&mut self.threads).into_iter().map(JoinHandle::join).collect();
        let mut ended = ended.into_iter();
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err("a neighbour panicked".to_owned())))
    }
}

/// Whoever gives up leaves nobody at work.
impl Drop for Neighbours {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn until_over(&self, mut step: impl FnMut(usize) -> Result<(), String>) -> Result<(), String> {
        let mut number = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            step(number)?;
            number += 1;
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

fn search(rest: &mut Rest, number: usize) -> Result<(), String> {
    let body = json!({ "query": QUESTIONS[number % QUESTIONS.len()] });
    rest.ask("POST", "/api/v1/search", Some(&body), "200").map(drop)
}
