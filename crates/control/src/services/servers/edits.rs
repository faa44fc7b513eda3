//! What an edit of a server has changed, for its audit record: the names of the fields, and old and new
//! values of those that are no secrets.

use trunkline_catalog::config::Transport;
use trunkline_catalog::name::escaped;
use trunkline_store::ServerRecord;

use crate::secrets::{Connection, sandbox_json, shown_url};

/// Longer values are cut: the record says that something has changed, not all of it.
const MOST_SHOWN: usize = 120;
/// Of all changes together.
const MOST_TEXT: usize = 2_000;

/// A server before or after an edit.
#[derive(Clone, Copy)]
pub(super) struct ServerVersion<'a> {
    pub(super) record: &'a ServerRecord,
    /// With its secrets.
    pub(super) connection: &'a Connection,
}

/// `name: a → b; connection_config.headers.Authorization: changed`. Says so if nothing has changed.
pub(super) fn edits(before: ServerVersion<'_>, after: ServerVersion<'_>) -> String {
    let mut summary = EditSummary::default();
    summary.text("name", &before.record.name, &after.record.name);
    summary.text("description", &before.record.description, &after.record.description);
    let auto = |side: ServerVersion<'_>| side.record.auto_connect.to_string();
    summary.text("auto_connect", &auto(before), &auto(after));
    let (from, to) = (before.connection, after.connection);
    summary.transport(&from.transport, &to.transport);
    let health = |it: &Connection| it.health_check_url.clone().unwrap_or_else(none);
    summary.url("health_check_url", &health(from), &health(to));
    for ((setting, was), (_, is)) in from.calls.values().zip(to.calls.values()) {
        let value = |it: Option<u32>| it.map_or_else(none, |value| setting.in_words(value));
        summary.text(setting.name, &value(was), &value(is));
    }
    let on_change = |it: &Connection| it.on_change.unwrap_or_default().word();
    summary.text("on_change", on_change(from), on_change(to));
    let sandbox = |it: &Connection| {
        it.sandbox.as_ref().map_or_else(|| "default".to_owned(), |it| sandbox_json(it).to_string())
    };
    summary.text("sandbox", &sandbox(from), &sandbox(to));
    let issuer = |it: &Connection| {
        it.oauth.as_ref().and_then(|client| client.issuer.clone()).unwrap_or_else(none)
    };
    summary.text("oauth.issuer", &issuer(from), &issuer(to));
    if from.oauth != to.oauth {
        summary.0.push("oauth: changed".to_owned());
    }
    summary.text_of_all()
}

#[derive(Default)]
struct EditSummary(Vec<String>);

impl EditSummary {
    fn text(&mut self, field: &str, before: &str, after: &str) {
        if before != after {
            self.0.push(format!("{field}: {} → {}", short(before), short(after)));
        }
    }

    /// What is behind a `?` is a secret.
    fn url(&mut self, field: &str, before: &str, after: &str) {
        let (from, to) = (shown_url(before), shown_url(after));
        if from != to {
            self.text(field, &from, &to);
        } else if before != after {
            self.0.push(format!("{field}: query changed"));
        }
    }

    fn transport(&mut self, before: &Transport, after: &Transport) {
        match (before, after) {
            (
                Transport::Remote { url: from, headers: had, .. },
                Transport::Remote { url: to, headers: has, .. },
            ) => {
                self.url("connection_config.url", from, to);
                self.secrets("connection_config.headers", had, has);
            }
            (
                Transport::Stdio { command: from, args: with, env: had, cwd: at },
                Transport::Stdio { command, args, env, cwd },
            ) => {
                let dir = |cwd: &Option<String>| cwd.clone().unwrap_or_else(none);
                self.text("connection_config.command", from, command);
                self.text("connection_config.args", &listed(with), &listed(args));
                self.text("connection_config.cwd", &dir(at), &dir(cwd));
                self.secrets("connection_config.env", had, env);
            }
            _ => self.0.push("connection_config: replaced".to_owned()),
        }
    }

    /// Only the names are written down.
    fn secrets(&mut self, field: &str, had: &[(String, String)], has: &[(String, String)]) {
        let value = |pairs: &[(String, String)], name: &str| {
            pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        for (name, before) in had {
            let what = match value(has, name) {
                None => "removed",
                Some(after) if after != *before => "changed",
                Some(_) => continue,
            };
            self.0.push(format!("{field}.{}: {what}", short(name)));
        }
        for (name, _) in has.iter().filter(|(name, _)| value(had, name).is_none()) {
            self.0.push(format!("{field}.{}: added", short(name)));
        }
    }

    fn text_of_all(self) -> String {
        if self.0.is_empty() {
            return "nothing has changed".to_owned();
        }
        let mut text = self.0.join("; ");
        if text.len() > MOST_TEXT {
            text.truncate(text.floor_char_boundary(MOST_TEXT));
            text.push('…');
        }
        text
    }
}

/// As JSON: an argument may have spaces.
fn listed(args: &[String]) -> String {
    serde_json::Value::from(args).to_string()
}

fn none() -> String {
    "none".to_owned()
}

fn short(text: &str) -> String {
    // On one line, with nothing hidden; quotes and backslashes do no harm here.
    let mut shown = escaped(text).replace("\\\"", "\"").replace("\\\\", "\\");
    if shown.len() > MOST_SHOWN {
        shown.truncate(shown.floor_char_boundary(MOST_SHOWN));
        shown.push('…');
    }
    if shown.is_empty() { "(empty)".to_owned() } else { shown }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use trunkline_catalog::config::{CallRules, RemoteKind};
    use trunkline_store::{DesiredState, Transport as Kind};

    use super::*;

    fn record(name: &str, description: &str) -> ServerRecord {
        ServerRecord {
            id: "1".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            transport: Kind::Http,
            config: "{}".to_owned(),
            auto_connect: true,
            wanted: DesiredState::Connected,
            health_check_url: None,
            created_at: 0,
            updated_at: 0,
            revision: 1,
        }
    }

    fn remote(url: &str, headers: &[(&str, &str)]) -> Connection {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers = headers.iter().map(pair).collect();
        Connection {
            transport: Transport::Remote {
                url: url.to_owned(),
                kind: RemoteKind::Http,
                headers,
                network: Default::default(),
            },
            health_check_url: None,
            calls: CallRules::default(),
            on_change: None,
            oauth: None,
            sandbox: None,
        }
    }

    #[test]
    fn arguments_of_a_command_are_told_without_escapes() {
        let started = |args: &[&str]| Connection {
            transport: Transport::Stdio {
                command: "node".to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: Vec::new(),
                cwd: None,
            },
            ..remote("https://h/mcp", &[])
        };
        let (was, from, to) = (record("a", ""), started(&["-y", "x"]), started(&["-y x"]));
        let told = edits(
            ServerVersion { record: &was, connection: &from },
            ServerVersion { record: &was, connection: &to },
        );
        assert_eq!(told, r#"connection_config.args: ["-y","x"] → ["-y x"]"#);
    }

    #[test]
    fn fields_are_named_and_secrets_are_not_shown() {
        let (was, is) = (record("a", ""), record("b", "says it again"));
        let from = remote("https://h/mcp?key=hunter2", &[("A", "hunter2"), ("B", "hunter2")]);
        let to = remote("https://h/mcp?key=hunter3", &[("A", "hunter3"), ("C", "hunter3")]);
        let to = Connection {
            calls: CallRules {
                timeout: Some(Duration::from_millis(9_500)),
                ..CallRules::default()
            },
            ..to
        };
        let told = edits(
            ServerVersion { record: &was, connection: &from },
            ServerVersion { record: &is, connection: &to },
        );
        assert_eq!(
            told,
            "name: a → b; description: (empty) → says it again; connection_config.url: query \
             changed; connection_config.headers.A: changed; connection_config.headers.B: removed; \
             connection_config.headers.C: added; call_timeout: none → 9.5 s"
        );
        let side = ServerVersion { record: &was, connection: &from };
        assert_eq!(edits(side, side), "nothing has changed");
        let quoted = record("a", r#"say "it" \ so"#);
        let told = edits(side, ServerVersion { record: &quoted, connection: &from });
        assert_eq!(told, r#"description: (empty) → say "it" \ so"#);
        let long = record("a", &"é".repeat(9_999));
        let told = edits(side, ServerVersion { record: &long, connection: &from });
        assert!(told.len() < 300 && told.ends_with('…'), "{told}");
    }
}
