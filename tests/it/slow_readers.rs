//! Readers that are slower than their writers: what is held for them stays near what is unsent.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::slow::{BOUND_KIB, Cell, Front, PACES, Server, Slow, Work};

/// Cells that run at a time: they mostly wait.
const AT_A_TIME: usize = 4;

/// 70 MB pass through a cell: twice what the memory may grow by.
const WORK: Work = Work::Calls(700);

/// Runs all of them and tells each; then fails if one was over the bound.
#[track_caller]
fn run(cells: &[(Cell, Work)]) {
    let _turn = crate::ONE_AT_A_TIME.lock();
    let (next, over) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((cell, work)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = cell.run(*work);
                    println!("{cell:?}: {outcome:?}");
                    if outcome.grown_kib > BOUND_KIB {
                        over.lock().unwrap().push((*cell, outcome));
                    }
                }
            });
        }
    });
    let over = over.into_inner().unwrap();
    assert!(over.is_empty(), "more than {BOUND_KIB} KiB: {over:#?}");
}

#[test]
fn a_slow_client_costs_what_is_unsent_on_every_front_with_every_server() {
    let pace = PACES[1];
    let pairs = Front::ALL.into_iter().flat_map(|front| Server::ALL.map(|server| (front, server)));
    let cell = |front, server| (Cell { front, server, slow: Slow::Client, pace }, WORK);
    run(&pairs.map(|(front, server)| cell(front, server)).collect::<Vec<_>>());
}

#[test]
fn a_slow_client_costs_what_is_unsent_at_every_speed() {
    let server = Server::Stdio;
    let cell = |front, pace| (Cell { front, server, slow: Slow::Client, pace }, WORK);
    let cells = [Front::Stdio, Front::Sse]
        .into_iter()
        .flat_map(|front| PACES.map(|pace| cell(front, pace)));
    run(&cells.collect::<Vec<_>>());
}

#[test]
fn a_slow_server_costs_what_is_unsent_whatever_it_is() {
    let cell = |server, pace| Cell { front: Front::Stdio, server, slow: Slow::Server, pace };
    // One pipe takes all that is sent to a process: 50 MB are enough to see it grow. A server in the
    // network has a connection for every call.
    let pipe = [PACES[0], PACES[1]].map(|pace| (cell(Server::Stdio, pace), Work::Calls(500)));
    let network = [Server::Json, Server::Events, Server::Sse];
    let network = network.map(|server| (cell(server, PACES[1]), Work::Calls(150)));
    run(&[&pipe[..], &network].concat());
}
