//! Replicas die and their store goes away while clients call: small versions of `cargo xtask soak replicas`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kit::balancer::Balancer;
use kit::database::Database;
use kit::insistent::{Insistent, Over, Told};
use kit::replicas::Replica;
use kit::room::Room;
use kit::service::Wire;
use kit::way::Way;
use kit::{LIMIT, ledger, process, scan};

use super::echoing;

/// Longer than it takes to know that a replica has gone.
const PATIENCE: Duration = Duration::from_secs(120);
const CALLERS: u64 = 4;

/// How often each `{"n":…}` has reached the server.
fn arrived(room: &Room) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for line in ledger::calls(&room.ledger("a")) {
        let number = scan::path(&line, &["params", "arguments", "n"]).expect("a number");
        let number = String::from_utf8_lossy(number).parse().expect("a number");
        *counts.entry(number).or_default() += 1;
    }
    counts
}

fn wait_for_tool(replica: &Replica, key: &str) {
    process::wait_until("the replica has the tool", 2 * LIMIT, || {
        replica.platform().tool_names(key) == ["a.echo"]
    });
}

#[test]
fn calls_under_keys_run_once_while_replicas_are_killed() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let database = Database::new();
    let store = database.direct_url();
    let start = |_| Replica::hurried(&store, &["--limits", "off"]);
    let mut replicas: Vec<Replica> = (0..3).map(start).collect();
    replicas[0].platform().connected("a", &service);
    let key = replicas[0].platform().key("caller");
    replicas.iter().for_each(|replica| wait_for_tool(replica, &key));
    let balancer = Balancer::new(replicas.iter().map(Replica::address).collect());
    let (answered, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let live = |place: u64| {
        let over = if place.is_multiple_of(2) { Over::Rest } else { Over::Mcp };
        let mut caller = Insistent::new(balancer.address(), &key, over);
        let mut told = Vec::new();
        for number in (place..).step_by(CALLERS as usize) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            told.push((number, caller.insist("a.echo", number, &number.to_string(), PATIENCE)));
            answered.fetch_add(1, Ordering::Relaxed);
        }
        told
    };
    let told: Vec<(u64, Told)> = std::thread::scope(|scope| {
        let live = &live;
        let callers: Vec<_> = (0..CALLERS).map(|place| scope.spawn(move || live(place))).collect();
        for kill in 0..6 {
            let enough = answered.load(Ordering::Relaxed) + 20;
            process::wait_until("more calls were answered", 4 * LIMIT, || {
                answered.load(Ordering::Relaxed) >= enough
            });
            replicas[kill % 3].kill();
            replicas[kill % 3].again();
        }
        is_over.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().expect("no caller panics")).collect()
    });
    let counts = arrived(&room);
    let mut right = 0;
    for (number, told) in &told {
        let ran = counts.get(number).copied().unwrap_or_default();
        match told {
            Told::Right => {
                assert_eq!(ran, 1, "call {number} was answered");
                right += 1;
            }
            Told::MayHaveRun(_) => assert!(ran <= 1, "call {number} ran {ran} times"),
            other => panic!("call {number} has no outcome: {other:?}"),
        }
    }
    assert!(counts.values().all(|count| *count == 1), "a call ran twice: {counts:?}");
    assert!(right > told.len() / 2, "{right} of {} were answered", told.len());
    assert_eq!(replicas[0].audit_fault(&store), None);
}

#[test]
fn while_the_store_is_away_calls_go_on_and_those_with_a_key_wait_for_it() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let database = Database::new();
    let way = Way::to(database.behind());
    let replica = Replica::start(&database.url(&way), &["--max-stale", "600s"]);
    replica.platform().connected("a", &service);
    let key = replica.platform().key("caller");
    wait_for_tool(&replica, &key);
    let callers = [Over::Rest, Over::Mcp].map(|over| Insistent::new(replica.address(), &key, over));
    way.cut();
    for (number, mut caller) in (0..).zip(callers) {
        for n in 0..10 {
            assert_eq!(caller.once("a.echo", 10 * number + n, None), Told::Right);
        }
        let kept = 100 + number;
        let told = caller.once("a.echo", kept, Some("k"));
        assert!(matches!(told, Told::DidNotRun(_)), "{told:?}");
        assert_eq!(arrived(&room).get(&kept), None);
    }
    way.join();
    let [mut one, mut other] =
        [Over::Rest, Over::Mcp].map(|over| Insistent::new(replica.address(), &key, over));
    assert_eq!(one.insist("a.echo", 200, "after", PATIENCE), Told::Right);
    assert_eq!(other.insist("a.echo", 201, "then", PATIENCE), Told::Right);
    assert_eq!(one.once("a.echo", 200, Some("after")), Told::Right);
    assert_eq!(arrived(&room).len(), 22);
    process::wait_until("every call is in the audit log", 2 * LIMIT, || {
        let records = replica.platform().audit();
        let ran = |record: &&serde_json::Value| {
            record["action"] == "call-tool" && record["outcome"] == "ok"
        };
        records.iter().filter(ran).count() == 22
    });
    assert!(arrived(&room).values().all(|count| *count == 1));
}
