//! `RuntimeHello`: the first line on a runtime's socket, from a client's front or from a command.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_catalog::client::Client;

/// Counts up when fronts and runtimes no longer understand each other. Both are of one build, so this
/// matters only to a front that was started by hand.
const PROTOCOL: u64 = 1;

/// Who connects, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuntimeHello {
    Client(ClientHello),
    Ask(Ask),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientHello {
    pub(crate) pid: u32,
    /// `--for`.
    pub(crate) kind: Option<Client>,
    /// How long the runtime stays when this client is the last to go.
    pub(crate) linger: Duration,
    /// The number of the last question that the client was asked.
    pub(crate) last_question: u32,
    /// A keyed hash of each variable of its environment.
    pub(crate) variables: BTreeMap<String, String>,
}

/// What a command wants of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Status,
    Stop,
    /// The runtime and all its servers, or one server.
    Restart(Option<String>),
    /// What a server wrote to its standard error last.
    Logs(String),
}

impl RuntimeHello {
    pub(crate) fn line(&self) -> String {
        let said = match self {
            Self::Client(client) => json!({
                "trunkline": PROTOCOL,
                "client": {
                    "pid": client.pid,
                    "for": client.kind.map(Client::id),
                    "lingerMs": u64::try_from(client.linger.as_millis()).unwrap_or(u64::MAX),
                    "lastQuestion": client.last_question,
                    "variables": client.variables,
                },
            }),
            Self::Ask(ask) => {
                let (word, server) = match ask {
                    Ask::Status => ("status", None),
                    Ask::Stop => ("stop", None),
                    Ask::Restart(server) => ("restart", server.as_deref()),
                    Ask::Logs(server) => ("logs", Some(server.as_str())),
                };
                json!({ "trunkline": PROTOCOL, "ask": word, "server": server })
            }
        };
        format!("{said}\n")
    }

    /// The error is told to the peer.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        let said: Value =
            serde_json::from_slice(line).map_err(|error| format!("no hello: {error}"))?;
        if said.get("trunkline").and_then(Value::as_u64) != Some(PROTOCOL) {
            return Err(format!("this runtime speaks version {PROTOCOL} of its protocol only"));
        }
        if let Some(client) = said.get("client") {
            return Ok(Self::Client(ClientHello {
                pid: number(client, "pid").try_into().unwrap_or_default(),
                kind: match client.get("for").and_then(Value::as_str) {
                    Some(name) => {
                        Some(name.parse().map_err(|_| format!("unknown client {name:?}"))?)
                    }
                    None => None,
                },
                linger: Duration::from_millis(number(client, "lingerMs")),
                last_question: number(client, "lastQuestion").try_into().unwrap_or_default(),
                variables: client.get("variables").map(hashes).unwrap_or_default(),
            }));
        }
        let server = said.get("server").and_then(Value::as_str).map(str::to_owned);
        match (said.get("ask").and_then(Value::as_str), server) {
            (Some("status"), _) => Ok(Self::Ask(Ask::Status)),
            (Some("stop"), _) => Ok(Self::Ask(Ask::Stop)),
            (Some("restart"), server) => Ok(Self::Ask(Ask::Restart(server))),
            (Some("logs"), Some(server)) => Ok(Self::Ask(Ask::Logs(server))),
            _ => Err("it asks for nothing that is known here".to_owned()),
        }
    }
}

fn hashes(of: &Value) -> BTreeMap<String, String> {
    let pairs = of.as_object().into_iter().flatten();
    pairs.filter_map(|(name, hash)| Some((name.clone(), hash.as_str()?.to_owned()))).collect()
}

fn number(of: &Value, key: &str) -> u64 {
    of.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// What a client is told that may attach.
pub(crate) const WELCOME: &str = "{\"trunkline\":1,\"welcome\":true}\n";

/// What a client is told that has to look again which runtime is its own: this one ends, or the config uses a
/// variable by now in which the two differ. Nothing was read of it.
pub(crate) const ELSEWHERE: &str = "{\"trunkline\":1,\"elsewhere\":true}\n";

/// Is the peer sent to another runtime by this line?
pub(crate) fn is_elsewhere(line: &[u8]) -> bool {
    line == ELSEWHERE.as_bytes()
}

/// What a peer is told that is refused.
pub(crate) fn refusal(why: &str) -> String {
    format!("{}\n", json!({ "trunkline": PROTOCOL, "error": why }))
}

/// Why the peer refuses, if this line says so.
pub(crate) fn refused(line: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(line).ok()?;
    said.get("error").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_is_read_as_it_was_said() {
        for hello in [
            RuntimeHello::Client(ClientHello {
                pid: 7,
                kind: Some("cursor".parse().unwrap()),
                linger: Duration::from_millis(1500),
                last_question: 1_000_000_003,
                variables: BTreeMap::from([("A b".to_owned(), "00ff".to_owned())]),
            }),
            RuntimeHello::Ask(Ask::Status),
            RuntimeHello::Ask(Ask::Stop),
            RuntimeHello::Ask(Ask::Restart(None)),
            RuntimeHello::Ask(Ask::Restart(Some("a b".to_owned()))),
            RuntimeHello::Ask(Ask::Logs("git".to_owned())),
        ] {
            assert_eq!(RuntimeHello::read(hello.line().as_bytes()), Ok(hello));
        }
    }

    #[test]
    fn what_is_no_hello_is_refused_with_a_reason() {
        for (line, part) in [
            ("GET / HTTP/1.1", "no hello"),
            ("{}", "version 1"),
            (r#"{"trunkline":1,"client":{"for":"nobody"}}"#, "unknown client"),
            (r#"{"trunkline":1,"ask":"dance"}"#, "nothing that is known"),
        ] {
            let why = RuntimeHello::read(line.as_bytes()).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
            assert_eq!(refused(refusal(&why).as_bytes()), Some(why));
        }
        assert_eq!(refused(WELCOME.as_bytes()), None);
        assert_eq!(refused(ELSEWHERE.as_bytes()), None);
        assert!(is_elsewhere(ELSEWHERE.as_bytes()) && !is_elsewhere(WELCOME.as_bytes()));
    }
}
