//! What a collector gets to see.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use trunkline_gateway::{Followed, Outcome, SpanKind, Target, TraceContext, Traces as _};
use trunkline_http::Url;

use super::span::spans;
use super::{Chosen, Sampler, Tracer, choose, json};
use crate::net::Client;
use crate::net::fake::{Answer, Asked, Fake};

const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A call that took five milliseconds, and was with its server after one.
pub(super) fn followed(outcome: Outcome) -> Followed {
    Followed {
        trail: TraceContext { trace: [9; 16], parent: Some([7; 8]), span: [1; 8], onward: [2; 8] },
        method: "tools/call".to_owned(),
        target: Some(Target {
            is_prompt: false,
            asked: "github.create".to_owned(),
            own: "create".to_owned(),
        }),
        server: "github".into(),
        hop: SpanKind::Pipe,
        who: Some("key:k1 from 127.0.0.1".into()),
        outcome,
        started: UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001),
        handed: Some(Duration::from_millis(1)),
        took: Duration::from_millis(5),
    }
}

#[test]
fn spans_have_the_shape_of_otlp_in_json() {
    let orphan = Followed {
        trail: TraceContext { trace: [0xff; 16], parent: None, span: [0xab; 8], onward: [2; 8] },
        target: None,
        method: "resources/read".to_owned(),
        handed: None,
        who: None,
        ..followed(Outcome::Timeout)
    };
    let all: Vec<_> = [followed(Outcome::Ok), orphan].iter().flat_map(spans).collect();
    let resource = [("service.name".to_owned(), "a \"b\"".to_owned())];
    let document: Value = serde_json::from_slice(&json::encode(&all, &resource)).unwrap();
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let sent = &document["resourceSpans"][0];
    assert_eq!(sent["resource"]["attributes"], json!([attribute("service.name", "a \"b\"")]));
    assert_eq!(sent["scopeSpans"][0]["scope"]["name"], "trunkline");
    let sent = &sent["scopeSpans"][0]["spans"];
    assert_eq!(sent[0]["traceId"], "09".repeat(16));
    assert_eq!(sent[0]["parentSpanId"], "07".repeat(8));
    assert_eq!(sent[1]["parentSpanId"], sent[0]["spanId"]);
    assert_eq!((&sent[0]["status"], &sent[0]["kind"]), (&json!({}), &json!(2)));
    assert_eq!(
        sent[2],
        json!({
            "traceId": "ff".repeat(16),
            "spanId": "ab".repeat(8),
            "flags": 0x101,
            "name": "resources/read",
            "kind": 2,
            "startTimeUnixNano": "1700000000000000001",
            "endTimeUnixNano": "1700000000005000001",
            "attributes": [
                attribute("mcp.method.name", "resources/read"),
                attribute("trunkline.server", "github"),
                attribute("trunkline.outcome", "timeout"),
                attribute("error.type", "timeout"),
                attribute("network.transport", "tcp"),
                attribute("network.protocol.name", "http"),
            ],
            "status": {"code": 2, "message": "timeout"},
        })
    );
}

/// A collector that remembers what it was sent; the first answers have these statuses.
async fn collector(statuses: &'static [u16]) -> (Fake, Arc<Mutex<Vec<Asked>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (ears, count) = (Arc::clone(&heard), AtomicUsize::new(0));
    let fake = Fake::start(move |asked| {
        ears.lock().push(asked);
        let status = statuses.get(count.fetch_add(1, Ordering::SeqCst)).copied().unwrap_or(200);
        Answer::with(status, &[("Retry-After", "0")], "{}")
    })
    .await;
    (fake, heard)
}

/// With a collector here that is spoken to in JSON.
fn tracer(url: &str) -> Tracer {
    tracer_with(url, Sampler::default())
}

fn tracer_with(url: &str, sampler: Sampler) -> Tracer {
    let variable = |name: &str| match name {
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("X-Key=canary".to_owned()),
        "OTEL_EXPORTER_OTLP_PROTOCOL" => Some("http/json".to_owned()),
        _ => None,
    };
    let url = Url::parse(url).unwrap();
    let Chosen { mut settings, .. } = choose(Some(&url), variable).unwrap().unwrap();
    settings.sampler = sampler;
    let client = Client::new(Arc::new(|_| Ok(())));
    Tracer::start(settings, client, &TaskTracker::new()).unwrap()
}

#[tokio::test]
async fn a_request_belongs_to_its_parents_trace_and_its_own_word_goes_before_the_heads() {
    let fake = Fake::start(|_| Answer::Silence).await;
    let tracer = tracer(&fake.url(""));
    let other = GOOD.replace("0af7", "1111");
    let trace = |text: &str| text.get(3..35).unwrap().to_owned();
    let hex = |id: [u8; 16]| format!("{:032x}", u128::from_be_bytes(id));
    for (parents, expected) in [
        ([Some(GOOD), None], GOOD),
        ([Some(GOOD), Some(other.as_str())], GOOD),
        ([None, Some(GOOD)], GOOD),
        ([Some("nonsense"), Some(GOOD)], GOOD),
    ] {
        let trail = tracer.begin(parents).unwrap();
        assert_eq!(hex(trail.trace), trace(expected), "{parents:?}");
        assert_eq!(trail.parent, Some(0xb7ad_6b71_6920_3331_u64.to_be_bytes()));
        assert_ne!(Some(trail.span), trail.parent);
        assert_ne!(trail.span, trail.onward);
    }
    for parents in [[None, None], [Some("nonsense"), None]] {
        assert_eq!(tracer.begin(parents).unwrap().parent, None);
    }
    assert_ne!(tracer.begin([None; 2]).unwrap().trace, tracer.begin([None; 2]).unwrap().trace);
    assert_eq!(tracer.begin([Some(&GOOD.replace("-01", "-00")), None]), None);
    let none = tracer_with(&fake.url(""), Sampler::read("always_off", None).unwrap());
    assert_eq!(none.begin([Some(GOOD), None]), None);
}

async fn closed(tracer: &Tracer) {
    tracer.close(Instant::now() + Duration::from_secs(60)).await;
}

fn count(asked: &Asked) -> usize {
    let document: Value = serde_json::from_slice(&asked.body).unwrap();
    document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len()
}

#[tokio::test]
async fn spans_are_sent_together_and_none_is_lost_at_the_end() {
    let (fake, heard) = collector(&[]).await;
    let tracer = tracer(&fake.url("/base/"));
    for _ in 0..1_100 {
        tracer.ended(followed(Outcome::Ok));
    }
    closed(&tracer).await;
    let heard = heard.lock();
    let sizes: Vec<_> = heard.iter().map(count).collect();
    assert_eq!(sizes, [1024, 1024, 152], "two spans for each");
    for asked in heard.iter() {
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/base/v1/traces"));
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("x-key"), Some("canary"));
    }
    assert_eq!(tracer.dropped(), 0);
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    for (statuses, attempts, dropped) in
        [(&[503, 429, 502][..], 4, 0), (&[503, 503, 503, 503, 503], 4, 512), (&[400], 1, 512)]
    {
        let (fake, heard) = collector(statuses).await;
        let tracer = tracer(&fake.url(""));
        // A full batch, which does not wait for more.
        for _ in 0..512 {
            tracer.ended(followed(Outcome::Ok));
        }
        let wait = async {
            while heard.lock().len() < attempts || tracer.dropped() < dropped {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect("in time");
        closed(&tracer).await;
        assert_eq!((heard.lock().len(), tracer.dropped()), (attempts, dropped), "{statuses:?}");
    }
}

#[tokio::test]
async fn what_finds_no_room_is_counted_and_nobody_waits() {
    let fake = Fake::start(|_| Answer::Silence).await;
    let tracer = tracer(&fake.url(""));
    for _ in 0..5_000 {
        tracer.ended(followed(Outcome::Ok));
    }
    assert_eq!(tracer.dropped(), 5_000 - 4_096);
    tracer.close(Instant::now()).await;
}
