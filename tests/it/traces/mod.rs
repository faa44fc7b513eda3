//! Traces: what a collector is sent about calls, what servers are told, and what becomes of calls when
//! the collector is of no use.

mod collectors;
mod decoded;
mod parents;
mod spans;

use std::path::Path;

use kit::collector::Collector;
use kit::ledger;
use kit::room::Room;
use kit::serve::Serve;

/// What a client of the tests comes from.
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const PARENT_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT_SPAN: &str = "b7ad6b7169203331";

/// `serve` on the room's config, with its traces going there.
#[track_caller]
fn serve(room: &Room, collector: &Collector) -> Serve {
    Serve::start(collector.follows(room.serve_command(&[])))
}

/// The last call that a server has got, as text.
#[track_caller]
fn last_call(ledger: &Path) -> String {
    let calls = ledger::calls(ledger);
    String::from_utf8_lossy(calls.last().expect("a call")).into_owned()
}
