//! Which process ends to make room for another, where only so many may run.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::limits::ABANDONED_SECONDS;
use crate::pump::FlushSet;
use crate::upstream::lifecycle::server::Server;

/// One of these processes, each for one call at a time or for one client, ends to make room for
/// another: one that nobody needs now, or else one whose only call waits for its client, or else one of a
/// session whose client seems to have gone. False: none can.
pub(crate) fn make_room(processes: &[Arc<Server>]) -> bool {
    let shared_out = processes.iter().filter(|process| !process.audience.is_exclusive());
    let running: Vec<_> = shared_out.filter_map(|it| Some((it, it.connection()?))).collect();
    // The harmless choice first: an idle process has nothing to lose.
    if let Some((idle, _)) = running.iter().find(|(_, connection)| connection.link.is_free()) {
        idle.signals.dismissed.cancel();
        return true;
    }
    let waiting = running.iter().filter_map(|(process, connection)| {
        let parked = connection.link.only_waiting()?;
        Some((process, connection, parked))
    });
    let waiting: Vec<_> = waiting.collect();
    let holders: Vec<_> =
        waiting.iter().map(|(.., it)| (&*it.how.principal, it.told_at())).collect();
    let mut touched = FlushSet::default();
    let gave_way = in_turn(&holders).into_iter().filter_map(|at| waiting.get(at)).any(
        |(process, connection, parked)| {
            let gives_way = connection.parking.give_way(connection, parked, &mut touched);
            if gives_way {
                tracing::info!(server = %process.key, "a call whose client has not come again gives way");
                process.signals.dismissed.cancel();
            }
            gives_way
        },
    );
    touched.flush();
    gave_way || take_from_the_absent(processes)
}

/// Ends the process of the session whose client has been away longest, if that is long enough. When it comes
/// back it gets another one.
fn take_from_the_absent(processes: &[Arc<Server>]) -> bool {
    let absent = processes.iter().filter_map(|process| {
        let is_free = process.connection().is_none_or(|connection| connection.link.is_free());
        let client = process.audience.sole().filter(|_| is_free)?;
        Some((client.absent_seconds().filter(|away| *away >= ABANDONED_SECONDS)?, process))
    });
    // Of those who left within the same second, the one that came first.
    let Some((_, process)) = absent.min_by_key(|(away, _)| Reverse(*away)) else { return false };
    tracing::info!(
        server = %process.key,
        "the process of a session whose client has not been heard of gives way to another's"
    );
    process.signals.dismissed.cancel();
    true
}

/// In which order those that wait give way: who holds most, and since when they wait. All who are
/// not known are one.
fn in_turn(holders: &[(&[u8], u64)]) -> Vec<usize> {
    let held = |who: &[u8]| holders.iter().filter(|(other, _)| *other == who).count();
    let mut order: Vec<_> = holders.iter().enumerate().collect();
    order.sort_by_key(|(_, (who, since))| (Reverse(held(who)), *since));
    order.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_most_gives_way_first_and_then_who_has_waited_longest() {
        for (holders, expected) in [
            (vec![], vec![]),
            (vec![("a", 3), ("b", 1), ("c", 2)], vec![1, 2, 0]),
            (vec![("a", 1), ("b", 3), ("b", 2)], vec![2, 1, 0]),
            (vec![("a", 1), ("?", 5), ("?", 4), ("?", 6)], vec![2, 1, 3, 0]),
        ] {
            let holders: Vec<_> =
                holders.iter().map(|(who, since)| (who.as_bytes(), *since)).collect();
            assert_eq!(in_turn(&holders), expected, "{holders:?}");
        }
    }
}
