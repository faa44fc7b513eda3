//! `Pumps`: the threads that move bytes, and which of them a new stream belongs to.
//!
//! A stream is read by one thread, from its beginning to its end: its messages keep their order. What is
//! read is written where it is handled, into the outbox of the other side, whichever thread reads that
//! side: a call between two threads is handed over by nobody and wakes nobody up.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio_util::sync::CancellationToken;

use crate::pump::handle::Pump;

/// How many threads may be asked for: more than any machine of today gains by.
pub const MOST_THREADS: usize = 64;
/// How many there are unless somebody asks for more: beyond that, servers and clients need the rest.
const MOST_USUAL_THREADS: usize = 16;

/// One thread for every two processors: the other half is for servers, which usually run on the same
/// machine, and for everything that waits.
pub fn usual_threads() -> NonZeroUsize {
    for_processors(std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

fn for_processors(processors: usize) -> NonZeroUsize {
    NonZeroUsize::new((processors / 2).min(MOST_USUAL_THREADS)).unwrap_or(NonZeroUsize::MIN)
}

/// A cloneable handle to all threads.
#[derive(Clone, Debug)]
pub(crate) struct Pumps(Arc<PumpGroup>);

#[derive(Debug)]
struct PumpGroup {
    first: Pump,
    others: Vec<Pump>,
    /// Where the next server goes.
    // Relaxed where it is used: any two servers that start at once may take either place.
    turn: AtomicUsize,
    /// Cancelled when the first of them ends.
    ended: CancellationToken,
}

/// The threads, to be waited for.
#[derive(Debug)]
pub(crate) struct PumpThreads(Vec<JoinHandle<io::Result<()>>>);

impl Pumps {
    /// Starts the threads. If one cannot be started, those before it end.
    pub(crate) fn start(count: NonZeroUsize) -> io::Result<(Self, PumpThreads)> {
        let ended = CancellationToken::new();
        let (first, thread) = Pump::start_thread("pump", &ended)?;
        let (others, turn) = (Vec::new(), AtomicUsize::new(0));
        let mut group = PumpGroup { first, others, turn, ended };
        let mut threads = PumpThreads(vec![thread]);
        for number in 2..=count.get() {
            match Pump::start_thread(&format!("pump-{number}"), &group.ended) {
                Ok((pump, thread)) => {
                    group.others.push(pump);
                    threads.0.push(thread);
                }
                Err(error) => {
                    group.all().for_each(Pump::stop);
                    threads.join()?;
                    return Err(error);
                }
            }
        }
        Ok((Self(Arc::new(group)), threads))
    }

    /// The thread for a client that stays: the one with the fewest streams.
    pub(crate) fn for_client(&self) -> &Pump {
        // Streams come and go: whose turn it is says nothing about who has how many.
        self.0.all().min_by_key(|pump| pump.streams()).unwrap_or(&self.0.first)
    }

    /// The thread for a connection to a server. They take turns: servers are few and stay, so that each
    /// thread has its share of them, however many clients it has.
    pub(crate) fn for_server(&self) -> &Pump {
        let turn = self.0.turn.fetch_add(1, Ordering::Relaxed) % (self.0.others.len() + 1);
        self.0.all().nth(turn).unwrap_or(&self.0.first)
    }

    pub(crate) fn stop(&self) {
        self.0.all().for_each(Pump::stop);
    }

    /// Waits until each thread has come to its orders once: none is stuck, or it has ended.
    pub(crate) async fn answer(&self) {
        for pump in self.0.all() {
            pump.answers().await;
        }
    }

    /// Waits until one thread has ended, which it does only when told to: without it, messages stay.
    pub(crate) async fn ended(&self) {
        self.0.ended.cancelled().await;
    }
}

impl PumpGroup {
    fn all(&self) -> impl Iterator<Item = &Pump> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl PumpThreads {
    /// Waits for all; the error of the first that did not end because it was told to.
    pub(crate) fn join(self) -> io::Result<()> {
        let ends: Vec<_> = self.0.into_iter().map(JoinHandle::join).collect();
        ends.into_iter().try_for_each(|end| match end {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                let why = format!("messages can no longer be moved: {error}");
                Err(io::Error::new(error.kind(), why))
            }
            Err(_) => Err(io::Error::other(
                "a defect of Trunkline has ended a thread that moves messages (its panic is \
                 reported above)",
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_processors_move_bytes() {
        let threads = |processors| for_processors(processors).get();
        assert_eq!([1, 2, 3, 4, 8, 16, 32, 128].map(threads), [1, 1, 1, 2, 4, 8, 16, 16]);
    }

    #[test]
    fn servers_take_turns_and_clients_go_where_the_fewest_streams_are() {
        let (pumps, threads) = Pumps::start(NonZeroUsize::new(3).unwrap()).unwrap();
        let number = |pump: &Pump| pumps.0.all().position(|one| Arc::ptr_eq(&one.0, &pump.0));
        let servers = [0; 6].map(|_| number(pumps.for_server()));
        assert_eq!(servers, [0, 1, 2, 0, 1, 2].map(Some));
        for (place, streams) in [2, 1, 3].into_iter().enumerate() {
            let pump = pumps.0.all().nth(place).unwrap();
            pump.0.streams.store(streams, Ordering::Relaxed);
        }
        assert_eq!(number(pumps.for_client()), Some(1));
        pumps.stop();
        threads.join().unwrap();
    }

    #[test]
    fn all_are_known_to_have_ended_when_one_has() {
        let (pumps, threads) = Pumps::start(NonZeroUsize::new(2).unwrap()).unwrap();
        pumps.0.others[0].stop();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(pumps.ended());
        pumps.stop();
        threads.join().unwrap();
    }
}
