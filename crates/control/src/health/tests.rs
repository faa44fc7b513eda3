//! Checks on a paused clock, by URL on loopback, and samples in a real store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use trunkline_http::Url;
use trunkline_store::{Change, DesiredState, HealthSample, ServerRecord, Store, Transport};

use super::checker::by_url;
use super::status::{HealthStatus, ServerStatus as Status};
use super::{
    BoxFuture, CallQuality, CheckPlan, CheckedServer, Checker, Checkup, ConnectionPhase,
    HealthRules, HealthTable, Incident, WAITING, keep,
};
use crate::net::Client;
use crate::net::fake::{Answer, Fake};
use crate::scratch::Folder;

#[derive(Debug)]
struct Scripted {
    phase: Mutex<ConnectionPhase>,
    /// When it last said something.
    spoke: Mutex<Option<Instant>>,
    answer: Mutex<Option<Result<(), String>>>,
    asked: AtomicU32,
    is_busy: AtomicBool,
    condemned: AtomicU32,
    is_failing: AtomicBool,
    life: AtomicU64,
    /// Another life begins while it is asked.
    is_replaced: AtomicBool,
}

impl Scripted {
    /// Without an answer it says nothing.
    fn new(answer: Option<Result<(), String>>) -> Self {
        Self {
            phase: Mutex::new(ConnectionPhase::Connected),
            spoke: Mutex::new(None),
            answer: Mutex::new(answer),
            asked: AtomicU32::new(0),
            is_busy: AtomicBool::new(false),
            condemned: AtomicU32::new(0),
            is_failing: AtomicBool::new(false),
            life: AtomicU64::new(1),
            is_replaced: AtomicBool::new(false),
        }
    }
}

impl CheckedServer for Scripted {
    fn phase(&self) -> ConnectionPhase {
        *self.phase.lock()
    }

    fn life(&self) -> Option<u64> {
        Some(self.life.load(Ordering::SeqCst))
    }

    fn silent_for(&self) -> Option<Duration> {
        self.spoke.lock().map(|spoke| spoke.elapsed())
    }

    fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst)
    }

    fn name(&self) -> String {
        "s".to_owned()
    }

    fn set_failing(&self, _: u64, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::SeqCst);
    }

    fn condemn(&self, _: u64, _: &str) {
        self.condemned.fetch_add(1, Ordering::SeqCst);
    }

    fn ask(&self) -> BoxFuture<'_, Result<(), String>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_replaced.load(Ordering::SeqCst) {
            self.life.fetch_add(1, Ordering::SeqCst);
        }
        let answer = self.answer.lock().clone();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

struct Scene {
    table: Arc<HealthTable>,
    checker: Checker,
    samples: mpsc::Receiver<HealthSample>,
    checking: CheckPlan,
}

fn scene() -> Scene {
    let table = Arc::new(HealthTable::new(HealthRules::default()));
    table.set_phase("s", ConnectionPhase::Connected);
    let (sender, samples) = mpsc::channel(WAITING);
    let client = Client::new(Arc::new(|_| Ok(())));
    let checker = Checker { table: Arc::clone(&table), client, samples: sender, clock: || 7 };
    let interval = CheckPlan::INTERVAL;
    let checking = CheckPlan { server_id: "s".to_owned(), url: None, interval };
    Scene { table, checker, samples, checking }
}

impl Scene {
    /// Watches for so long.
    async fn pass(&self, server: &Scripted, time: Duration) {
        let end = CancellationToken::new();
        let watch = self.checker.watch(&self.checking, server, &end);
        let _ = tokio::time::timeout(time, watch).await;
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

#[tokio::test(start_paused = true)]
async fn us5_ac1_a_server_is_checked_at_each_interval() {
    let mut scene = scene();
    scene.pass(&Scripted::new(Some(Ok(()))), minutes(10)).await;
    let mut count = 0;
    while scene.samples.try_recv().is_ok() {
        count += 1;
    }
    // Every 27 to 30 seconds.
    assert!((19..=22).contains(&count), "{count}");
}

#[tokio::test(start_paused = true)]
async fn us5_ac3_a_message_is_proof_enough_and_silence_is_asked_whether_anybody_calls_or_not() {
    let mut scene = scene();
    let server = Scripted::new(Some(Ok(())));
    *server.spoke.lock() = Some(Instant::now() + Duration::from_secs(5));
    scene.pass(&server, Duration::from_secs(34)).await;
    assert_eq!(server.asked.load(Ordering::SeqCst), 0);
    let sample = scene.samples.try_recv().unwrap();
    assert_eq!((sample.ok, sample.response_ms), (true, None));
    scene.pass(&server, Duration::from_secs(34)).await;
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    let sample = scene.samples.try_recv().unwrap();
    assert_eq!((sample.ok, sample.response_ms), (true, Some(0)));
    assert_eq!(scene.table.status("s"), Some(Status::Connected));
    let known = scene.table.of_server("s").unwrap();
    assert_eq!((known.health.status, known.health.last_check), (HealthStatus::Healthy, Some(7)));
    assert_eq!(known.window.calls, 0, "a question of ours is no call");
}

/// It may work on its calls, or hang: it is shown as what it is, and replaced when it has no calls.
#[tokio::test(start_paused = true)]
async fn us5_ac5_a_server_that_hangs_with_a_call_open_is_an_error_in_time_and_keeps_its_call() {
    let scene = scene();
    let server = Scripted::new(None);
    server.is_busy.store(true, Ordering::SeqCst);
    // Just before the first check, which therefore finds nothing wrong.
    *server.spoke.lock() = Some(Instant::now() + scene.checking.interval.mul_f64(0.9));
    let bound = 4 * scene.checking.interval + Duration::from_secs(5);
    scene.pass(&server, bound + Duration::from_millis(1)).await;
    assert_eq!(scene.table.status("s"), Some(Status::Error));
    assert_eq!(server.condemned.load(Ordering::SeqCst), 0, "its call may still end");
    assert!(server.is_failing.load(Ordering::SeqCst), "it gets no further calls");
    let (reason, last) = scene.table.of_server("s").unwrap().reason.unwrap();
    assert_eq!(reason.to_string(), "3 health checks in a row failed");
    assert_eq!(last.unwrap().what, "no answer within 5 s");
    server.is_busy.store(false, Ordering::SeqCst);
    scene.pass(&server, Duration::from_secs(36)).await;
    assert_eq!(server.condemned.load(Ordering::SeqCst), 1);
}

/// A call without an end, or one whose client has gone, does not keep a server that hangs.
#[tokio::test(start_paused = true)]
async fn a_server_that_stays_busy_is_replaced_after_ten_failed_checks() {
    let scene = scene();
    let server = Scripted::new(None);
    server.is_busy.store(true, Ordering::SeqCst);
    *server.spoke.lock() = Some(Instant::now());
    let interval = scene.checking.interval;
    // The tenth failed check cannot have ended before: the pauses are nine tenths of the interval at least.
    scene.pass(&server, interval.mul_f64(0.9) * 10).await;
    assert_eq!(server.condemned.load(Ordering::SeqCst), 0, "nine failed checks are not enough");
    scene.pass(&server, interval * 2 + Duration::from_secs(5)).await;
    assert!(server.condemned.load(Ordering::SeqCst) > 0);
    *server.answer.lock() = Some(Ok(()));
    scene.pass(&server, interval + Duration::from_secs(5)).await;
    assert!(!server.is_failing.load(Ordering::SeqCst), "it gets calls again");
}

#[tokio::test(start_paused = true)]
async fn what_a_life_has_not_answered_says_nothing_of_the_next() {
    let scene = scene();
    let server = Scripted::new(None);
    server.is_replaced.store(true, Ordering::SeqCst);
    scene.pass(&server, minutes(10)).await;
    assert!(server.asked.load(Ordering::SeqCst) > 10);
    assert_eq!(server.condemned.load(Ordering::SeqCst), 0);
    assert!(!server.is_failing.load(Ordering::SeqCst));
    assert_eq!(scene.table.of_server("s").unwrap().health.consecutive_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn three_restarts_in_ten_minutes_degrade_a_server() {
    let table = HealthTable::new(HealthRules::default());
    table.set_phase("s", ConnectionPhase::Connected);
    for _ in 0..2 {
        table.restarted("s");
    }
    assert_eq!(table.status("s"), Some(Status::Connected));
    tokio::time::sleep(minutes(9)).await;
    table.restarted("s");
    let known = table.of_server("s").unwrap();
    assert_eq!((known.status, known.health.restarts), (Status::Degraded, 3));
    let reason = known.reason.unwrap().0.to_string();
    assert_eq!(reason, "it restarted 3 times in the last 10 minutes");
    tokio::time::sleep(minutes(2)).await;
    let known = table.of_server("s").unwrap();
    assert_eq!((known.status, known.health.restarts), (Status::Connected, 1));
}

#[tokio::test(start_paused = true)]
async fn us5_ac5_three_failed_checks_are_an_error_and_one_good_one_ends_it() {
    for (answer, detail) in [
        (None, "no answer within 5 s"),
        (Some(Err("the pipe is broken".to_owned())), "the pipe is broken"),
    ] {
        let mut scene = scene();
        let server = Scripted::new(answer);
        let mut statuses = Vec::new();
        for _ in 0..4 {
            let end = CancellationToken::new();
            tokio::select! {
                () = scene.checker.watch(&scene.checking, &server, &end) => {}
                sample = scene.samples.recv() => {
                    let sample = sample.unwrap();
                    assert_eq!((sample.ok, sample.detail.as_deref()), (false, Some(detail)));
                    statuses.push(sample.status);
                }
            }
        }
        assert_eq!(statuses, ["CONNECTED", "CONNECTED", "ERROR", "ERROR"]);
        assert_eq!(server.condemned.load(Ordering::SeqCst), 2, "from the third on");
        let known = scene.table.of_server("s").unwrap();
        assert_eq!(known.health.status, HealthStatus::Failing);
        assert_eq!((known.health.consecutive_failures, known.window.failed_checks), (4, 4));
        *server.answer.lock() = Some(Ok(()));
        scene.pass(&server, Duration::from_secs(34)).await;
        assert_eq!(scene.table.status("s"), Some(Status::Connected));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_connected_is_not_checked() {
    let mut scene = scene();
    let server = Scripted::new(None);
    for phase in
        [ConnectionPhase::Disconnected, ConnectionPhase::Connecting, ConnectionPhase::Failed]
    {
        *server.phase.lock() = phase;
        scene.pass(&server, minutes(5)).await;
    }
    assert!(scene.samples.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn elevated_errors_degrade_a_server_until_they_are_gone() {
    let table = HealthTable::new(HealthRules::default());
    let mut changes = table.changes();
    table.set_phase("s", ConnectionPhase::Connected);
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    for number in 0..20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ended = if number % 4 == 0 { CallQuality::Failed } else { CallQuality::Well };
        let trouble = || Incident { at: number, what: "error -32603 from `t`".to_owned() };
        table.call_ended("s", ended, Duration::from_millis(3), trouble);
    }
    assert!(changes.has_changed().unwrap());
    assert_eq!(table.status("s"), Some(Status::Degraded));
    let known = table.of_server("s").unwrap();
    assert_eq!((known.window.calls, known.window.failed_calls), (20, 5));
    assert_eq!(known.window.error_rate, Some(0.25));
    let (reason, last) = known.reason.unwrap();
    assert_eq!(reason.to_string(), "25 % of 20 calls failed");
    assert_eq!(last, Some(Incident { at: 16, what: "error -32603 from `t`".to_owned() }));
    assert!(known.health.p95.unwrap() >= 3.0);
    tokio::time::sleep(minutes(6)).await;
    assert_eq!(table.of_server("s").unwrap().status, Status::Connected);
}

#[tokio::test(start_paused = true)]
async fn the_connection_counts_first_and_a_new_one_starts_without_strikes() {
    let table = HealthTable::new(HealthRules::default());
    let bad = Checkup { ok: false, took: None, detail: None };
    assert_eq!(table.checked("s", &bad, 1), None, "nobody has heard of it");
    table.set_phase("s", ConnectionPhase::Connected);
    for _ in 0..3 {
        table.checked("s", &bad, 1);
    }
    assert_eq!(table.status("s"), Some(Status::Error));
    for (phase, status) in [
        (ConnectionPhase::Connecting, Status::Connecting),
        (ConnectionPhase::Connected, Status::Connected),
        (ConnectionPhase::Failed, Status::Error),
        (ConnectionPhase::Disconnected, Status::Disconnected),
    ] {
        table.set_phase("s", phase);
        assert_eq!(table.status("s"), Some(status));
    }
    table.forget("s");
    assert_eq!((table.status("s"), table.of_server("s")), (None, None));
}

#[tokio::test]
async fn us5_ac2_the_url_is_asked_and_its_status_counts() {
    let fake = Fake::start(|asked| match asked.target.as_str() {
        "/ok" => Answer::with(204, &[], ""),
        "/moved" => Answer::with(307, &[("Location", "/ok")], ""),
        "/away" => Answer::with(307, &[("Location", "http://127.0.0.2:1/")], ""),
        "/large" => Answer::with(200, &[], &"x".repeat(100_000)),
        _ => Answer::with(503, &[], "broken"),
    })
    .await;
    let client = Client::new(Arc::new(|_| Ok(())));
    for (path, ok, detail) in [
        ("/ok", true, ""),
        ("/moved", true, ""),
        ("/large", true, ""),
        ("/away", false, "redirects"),
        ("/broken", false, "it answered with status 503"),
    ] {
        let checkup = by_url(&client, &Url::parse(&fake.url(path)).unwrap()).await;
        assert_eq!(checkup.ok, ok, "{path} {checkup:?}");
        assert!(checkup.detail.unwrap_or_default().contains(detail), "{path}");
    }
    let judge = Arc::new(|_| Err("use --allow-net".to_owned()));
    let checkup = by_url(&Client::new(judge), &Url::parse(&fake.url("/ok")).unwrap()).await;
    assert!(checkup.detail.unwrap().contains("--allow-net"));
}

#[tokio::test(start_paused = true)]
async fn us5_ac8_a_url_that_does_not_answer_fails_after_five_seconds() {
    let fake = Fake::start(|_| Answer::Silence).await;
    let client = Client::new(Arc::new(|_| Ok(())));
    let start = Instant::now();
    let checkup = by_url(&client, &Url::parse(&fake.url("/")).unwrap()).await;
    assert!(!checkup.ok);
    assert!(checkup.detail.unwrap().contains("within 5 s"));
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn samples_are_kept_for_a_day() {
    const NOW: i64 = 100 * 3_600 * 1_000;
    let folder = Folder::new();
    let store = folder.store().await;
    let server = ServerRecord {
        id: "s".to_owned(),
        name: "s".to_owned(),
        description: String::new(),
        transport: Transport::Http,
        config: "{}".to_owned(),
        auto_connect: true,
        wanted: DesiredState::Connected,
        health_check_url: None,
        created_at: 1,
        updated_at: 1,
        revision: 1,
    };
    store.commit(vec![Change::InsertServer(server)], vec![]).await.unwrap();
    let sample = |at| HealthSample {
        server_id: "s".to_owned(),
        at,
        ok: true,
        status: "CONNECTED".to_owned(),
        response_ms: Some(3),
        detail: None,
    };
    store.append_health(vec![sample(1), sample(NOW - 1_000)]).await.unwrap();
    let (sender, receiver) = mpsc::channel(WAITING);
    sender.try_send(sample(NOW)).unwrap();
    let end = CancellationToken::new();
    let pruned = async {
        while times(&store).await != [NOW, NOW - 1_000] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sender.try_send(sample(NOW + 1)).unwrap();
        end.cancel();
    };
    let both = Box::pin(async { tokio::join!(keep(&store, receiver, || NOW, &end), pruned) });
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("in time");
    assert_eq!(times(&store).await, [NOW + 1, NOW, NOW - 1_000]);
}

async fn times(store: &Store) -> Vec<i64> {
    store.health("s", 10).await.unwrap().iter().map(|sample| sample.at).collect()
}
