//! `serve` is killed at random moments while two writers change things: what was acknowledged is
//! there afterwards, what was not is whole or not at all, and the audit chain has no gap.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kit::database::Database;
use kit::platform::Platform;
use kit::rng::Rng;
use kit::room::Room;
use kit::{LIMIT, process};
use rustix::process::Signal;

use crate::Size;
use crate::house::verify;
use crate::report::Report;
use crate::truth::{Shown, Truth};
use crate::writer::{Change, write};

const KILLS: u64 = 200;
const WRITERS: usize = 2;

pub fn run(report: &mut Report, size: Size) {
    let database = Database::new();
    let url = database.direct_url();
    let mut rows = Vec::new();
    for (label, store) in [("SQLite", None), ("Postgres", Some(&url[..]))] {
        rows.push(on(report, label, store, size.of(KILLS)));
    }
    report.table(
        "`serve` killed while it writes",
        &["", "kills", "acknowledged", "in doubt", "of those done", "records", "seconds"],
        &rows,
    );
}

/// One store; its row.
fn on(report: &mut Report, label: &str, store: Option<&str>, kills: u64) -> Vec<String> {
    let begin = Instant::now();
    let room = Room::new();
    let mut rng = Rng::new(11);
    let mut truths: Vec<Truth> = (0..WRITERS).map(|_| Truth::default()).collect();
    let (mut faults, mut broken) = (Vec::new(), Vec::new());
    let (mut acknowledged, mut done) = (0, 0);
    for kill in 0..kills {
        let platform = start(&room, store);
        let (doubts, count) = until_killed(&platform, &mut truths, &mut rng, kill);
        acknowledged += count;
        drop(platform);
        broken.extend(verify(&room, store).map(|fault| format!("after kill {kill}: {fault}")));
        let platform = start(&room, store);
        let shown = Shown::by(&platform);
        for (truth, doubt) in truths.iter_mut().zip(doubts) {
            done += u64::from(truth.settle(doubt, &shown));
        }
        let mut found = Truth::faults(&truths, &shown);
        found.extend(truths.iter().flat_map(|truth| truth.try_keys(&platform, &mut rng)));
        faults.extend(found.into_iter().map(|fault| format!("after kill {kill}: {fault}")));
    }
    let records = records(&start(&room, store));
    let what = |what: &str| format!("kills on {label}: {what}");
    report.none(&what("acknowledged changes that are not there, or others that are"), &faults);
    report.none(&what("faults in the audit chain"), &broken);
    let told = acknowledged + done;
    report.check(&what("records of changes"), &told.to_string(), records, records == told);
    let in_doubt = kills * WRITERS as u64;
    let figures = [kills, acknowledged, in_doubt, done, records, begin.elapsed().as_secs()];
    let figures = figures.map(|figure| figure.to_string());
    [vec![label.to_owned()], figures.to_vec()].concat()
}

fn start(room: &Room, store: Option<&str>) -> Platform {
    match store {
        Some(url) => room.platform(&["--store", url]),
        None => room.platform(&[]),
    }
}

/// Lets the writers write and kills it in the middle; what is in doubt, and how much is not.
fn until_killed(
    platform: &Platform,
    truths: &mut [Truth],
    rng: &mut Rng,
    kill: u64,
) -> (Vec<Change>, u64) {
    let acknowledged = AtomicUsize::new(0);
    let (after, pause) = (rng.below(16), Duration::from_micros(rng.number() % 20_000));
    let doubts = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..)
            .zip(&mut *truths)
            .map(|(number, truth): (u64, _)| {
                let mut rng = Rng::new(kill * 1_000 + number);
                let (acknowledged, name) = (&acknowledged, format!("w{number}-{kill}"));
                scope.spawn(move || write(platform, truth, &mut rng, &name, acknowledged))
            })
            .collect();
        process::wait_until("some are acknowledged", LIMIT, || {
            acknowledged.load(Ordering::SeqCst) >= after
        });
        // Not to wait for anything: to be anywhere in the next write.
        std::thread::sleep(pause);
        platform.serve().process().signal(Signal::KILL);
        let joined = writers.into_iter().map(|writer| writer.join().expect("no writer panics"));
        joined.collect()
    });
    platform.serve().process().wait_exit(LIMIT);
    (doubts, acknowledged.into_inner() as u64)
}

/// How many changes the audit log tells of.
fn records(platform: &Platform) -> u64 {
    const CHANGES: [&str; 5] =
        ["register-server", "edit-server", "delete-server", "create-key", "revoke-key"];
    let records = platform.audit();
    let told = |action: &str| CHANGES.contains(&action);
    records.iter().filter(|record| record["action"].as_str().is_some_and(told)).count() as u64
}
