//! What was acknowledged survives `kill -9`, at whatever moment it comes.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kit::http::Ask;
use kit::platform::{Platform, SERVERS, pages};
use kit::rng::Rng;
use kit::room::Room;
use kit::{LIMIT, bin, process, run};
use rustix::process::Signal;
use serde_json::json;

const KILLS: usize = 20;

/// Registers servers until the platform is gone; the names of those it has acknowledged.
fn write(platform: &Platform, round: usize, acknowledged: &AtomicUsize) -> Vec<String> {
    let mut names = Vec::new();
    for n in 0.. {
        let name = format!("r{round}-{n}");
        let body = json!({
            "name": name,
            "transport_type": "HTTP",
            "connection_config": {
                "url": "https://example.com/mcp",
                "headers": { "Authorization": format!("Bearer {name}") },
            },
            "auto_connect": false,
        });
        let ask = Ask::new("POST", SERVERS)
            .header("Content-Type", "application/json")
            .body(body.to_string());
        match platform.admin().try_send(&ask) {
            Some(answer) if answer.status() == 201 => names.push(name),
            Some(answer) => panic!("{answer}"),
            None => break,
        }
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    names
}

#[test]
fn k32_every_acknowledged_registration_survives_sigkill_and_the_chain_is_whole() {
    let room = Room::new();
    let mut rng = Rng::new(5);
    let mut promised = BTreeSet::new();
    for round in 0..KILLS {
        let platform = room.platform(&[]);
        let acknowledged = AtomicUsize::new(0);
        let (after, pause) = (rng.below(12), Duration::from_micros(rng.number() % 20_000));
        let names = std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(&platform, round, &acknowledged));
            process::wait_until("some are acknowledged", LIMIT, || {
                acknowledged.load(Ordering::SeqCst) >= after
            });
            // Not to wait for anything: to be anywhere in the next write.
            std::thread::sleep(pause);
            platform.serve().process().signal(Signal::KILL);
            writer.join().expect("the writer does not panic")
        });
        promised.extend(names);
        platform.serve().process().wait_exit(LIMIT);
        let mut verify = Command::new(bin::trunkline());
        verify.args(["audit", "verify", "--data-dir"]).arg(room.path("data"));
        verify.env_remove("TRUNKLINE_KEY");
        let done = run::run(verify, b"");
        assert_eq!(done.code, Some(0), "after kill {round}: {done}");
    }
    let platform = room.platform(&[]);
    let servers = pages(platform.admin(), &format!("{SERVERS}?limit=1000"), "servers");
    let kept: BTreeSet<String> =
        servers.iter().filter_map(|server| server["name"].as_str().map(str::to_owned)).collect();
    let lost: Vec<&String> = promised.difference(&kept).collect();
    assert_eq!(lost, Vec::<&String>::new());
    // One more per kill may have been written and not acknowledged.
    assert!(kept.len() <= promised.len() + KILLS, "{} of {}", kept.len(), promised.len());
    let records = platform.audit();
    let registered: BTreeSet<String> = records
        .iter()
        .filter(|record| record["action"] == "register-server")
        .filter_map(|record| record["server_name"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(registered, kept, "each has its record, written with it");
}
