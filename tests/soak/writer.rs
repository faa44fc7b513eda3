//! Changes of every kind, one after the other, until nobody answers any more.

use std::sync::atomic::{AtomicUsize, Ordering};

use kit::http::Ask;
use kit::platform::{KEYS, Platform, SERVERS, id_of};
use kit::rest::Answer;
use kit::rng::Rng;
use serde_json::{Value, json};

use crate::truth::Truth;

/// One change.
#[derive(Debug, Clone)]
pub enum Change {
    Register { name: String, description: String },
    Describe { name: String, id: String, description: String },
    Remove { name: String, id: String },
    MakeKey { name: String },
    Revoke { id: String },
}

/// Fewer servers than this and one is registered, more than that and one is removed.
const FEW: usize = 3;
const MANY: usize = 12;

impl Change {
    /// The next one for somebody who knows this much.
    fn next(truth: &Truth, rng: &mut Rng, fresh: &str) -> Self {
        let server = truth.server(rng);
        let key = truth.live_key(rng);
        let description = fresh.to_owned();
        match (rng.below(5), server, key) {
            (1, Some((name, id)), _) if truth.servers() > FEW => Self::Remove { name, id },
            (_, Some((name, id)), _) if truth.servers() > MANY => Self::Remove { name, id },
            (2, Some((name, id)), _) => Self::Describe { name, id, description },
            (3, _, _) => Self::MakeKey { name: fresh.to_owned() },
            (4, _, Some(id)) => Self::Revoke { id },
            _ => Self::Register { name: fresh.to_owned(), description },
        }
    }

    fn ask(&self) -> Ask {
        let with = |method: &str, path: &str, body: Value| {
            let ask = Ask::new(method, path).header("Content-Type", "application/json");
            ask.body(body.to_string())
        };
        match self {
            Self::Register { name, description } => {
                let config = json!({
                    "url": "https://example.com/mcp",
                    "headers": { "Authorization": format!("Bearer {name}") },
                });
                let body = json!({
                    "name": name,
                    "description": description,
                    "transport_type": "HTTP",
                    "connection_config": config,
                    "auto_connect": false,
                });
                with("POST", SERVERS, body)
            }
            Self::Describe { id, description, .. } => {
                with("PATCH", &format!("{SERVERS}/{id}"), json!({ "description": description }))
            }
            Self::Remove { id, .. } => Ask::new("DELETE", &format!("{SERVERS}/{id}")),
            Self::MakeKey { name } => with("POST", KEYS, json!({ "name": name, "role": "viewer" })),
            Self::Revoke { id } => Ask::new("DELETE", &format!("{KEYS}/{id}")),
        }
    }

    /// It was acknowledged.
    fn done(self, answer: &Answer, truth: &mut Truth) {
        match self {
            Self::Register { name, description } => {
                truth.has_server(name, id_of(&answer.is(201)), description);
            }
            Self::Describe { name, id, description } => {
                answer.is(200);
                truth.has_server(name, id, description);
            }
            Self::Remove { name, .. } => {
                answer.is(204);
                truth.has_no_server(&name);
            }
            Self::MakeKey { .. } => {
                let made = answer.is(201);
                let key = made["key"].as_str().expect("a key").to_owned();
                truth.has_key(id_of(&made), key);
            }
            Self::Revoke { id } => {
                answer.is(204);
                truth.has_revoked(&id);
            }
        }
    }
}

/// Changes things until the platform is gone; the change that got no answer is left in doubt.
pub fn write(
    platform: &Platform,
    truth: &mut Truth,
    rng: &mut Rng,
    round: &str,
    acknowledged: &AtomicUsize,
) -> Change {
    for number in 0.. {
        let change = Change::next(truth, rng, &format!("{round}-{number}"));
        match platform.admin().try_send(&change.ask()) {
            Some(answer) => change.done(&answer, truth),
            None => return change,
        }
        acknowledged.fetch_add(1, Ordering::SeqCst);
    }
    unreachable!("numbers do not end")
}
