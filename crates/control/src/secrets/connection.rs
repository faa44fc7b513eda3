//! How a registered server is reached, and the JSON of it that is kept in the open.

use serde_json::{Map, Value, json};
use trunkline_catalog::config::{
    CallRules, NetworkRules, OnChange, RemoteKind, SandboxRules, Transport,
};

use super::error::SecretError;
use super::mask::{SECRET_SHOWN, shown_url};
use super::oauth_client::OAuthClient;
use super::reference::{ReferencePiece, pieces};
use super::sandbox_json::{read_sandbox, sandbox_json};

/// As it was given, references as they were written. `Debug` shows no values.
#[derive(Clone, PartialEq, Eq)]
pub struct Connection {
    pub transport: Transport,
    pub health_check_url: Option<String>,
    pub calls: CallRules,
    /// `None`: the default.
    pub on_change: Option<OnChange>,
    /// Who Trunkline is to its authorization server, where that was arranged by hand.
    pub oauth: Option<OAuthClient>,
    /// The walls around a command; `None`: the platform's default.
    pub sandbox: Option<SandboxRules>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// The parts of a connection whose values are sealed. The word is part of a credential's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPart {
    Header,
    Variable,
    Url,
    HealthCheckUrl,
    ClientSecret,
}

impl ConnectionPart {
    pub(super) const ALL: [Self; 5] =
        [Self::Header, Self::Variable, Self::Url, Self::HealthCheckUrl, Self::ClientSecret];

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Variable => "env",
            Self::Url => "url",
            Self::HealthCheckUrl => "health_check_url",
            Self::ClientSecret => "client_secret",
        }
    }

    /// In words, for errors.
    pub(super) fn said(self, name: &str) -> String {
        match self {
            Self::Header => format!("the header `{name}`"),
            Self::Variable => format!("the variable `{name}`"),
            Self::Url => "the URL".to_owned(),
            Self::HealthCheckUrl => "the URL of the health check".to_owned(),
            Self::ClientSecret => "the client's secret".to_owned(),
        }
    }
}

impl Connection {
    /// Every value that has to be sealed, with the name it has there.
    pub(super) fn values(&self) -> Vec<(ConnectionPart, &str, &str)> {
        let mut values = Vec::new();
        match &self.transport {
            Transport::Stdio { env, .. } => values.extend(named(ConnectionPart::Variable, env)),
            Transport::Remote { url, headers, .. } => {
                values.extend(named(ConnectionPart::Header, headers));
                values.extend(hides(url).then_some((ConnectionPart::Url, "", url.as_str())));
            }
        }
        let health = self.health_check_url.as_deref().filter(|url| hides(url));
        values.extend(health.map(|url| (ConnectionPart::HealthCheckUrl, "", url)));
        let secret = self.oauth.as_ref().and_then(|client| client.client_secret.as_deref());
        values.extend(secret.map(|secret| (ConnectionPart::ClientSecret, "", secret)));
        values
    }

    /// Every text that may hold a reference, with its place in words.
    pub(super) fn texts(&self) -> Vec<(String, &str)> {
        let mut texts: Vec<(String, &str)> = Vec::new();
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                texts.push(("the command".to_owned(), command));
                texts.extend((1..).zip(args).map(|(n, arg)| (format!("argument {n}"), &**arg)));
                texts.extend(cwd.as_deref().map(|cwd| ("the working directory".to_owned(), cwd)));
                texts.extend(
                    env.iter().map(|(name, value)| (ConnectionPart::Variable.said(name), &**value)),
                );
            }
            Transport::Remote { url, headers, .. } => {
                texts.push((ConnectionPart::Url.said(""), url));
                let headers = headers.iter();
                texts.extend(
                    headers.map(|(name, value)| (ConnectionPart::Header.said(name), &**value)),
                );
            }
        }
        let health = self.health_check_url.as_deref();
        texts.extend(health.map(|url| (ConnectionPart::HealthCheckUrl.said(""), url)));
        let client = self.oauth.as_ref();
        let secret = client.and_then(|client| Some((client, client.client_secret.as_deref()?)));
        // For another issuer it stands in another place: who may change the rest of a server cannot redirect
        // what a reference stands for.
        texts.extend(secret.map(|(client, secret)| {
            let issuer = client.issuer.as_deref().unwrap_or("no issuer");
            (format!("{} for {issuer}", ConnectionPart::ClientSecret.said("")), secret)
        }));
        texts
    }

    /// The texts that refer to a secret or a variable, with their places in words.
    pub(crate) fn references(&self) -> Vec<(String, &str)> {
        let refers = |text: &str| {
            let pieces = pieces(text).into_iter();
            pieces
                .into_iter()
                .any(|it| matches!(it, ReferencePiece::Secret(_) | ReferencePiece::Variable { .. }))
        };
        self.texts().into_iter().filter(|(_, text)| refers(text)).collect()
    }

    /// Puts a value back where `public` has taken it from. False if there is no such place.
    pub(super) fn put(&mut self, part: ConnectionPart, name: &str, value: String) -> bool {
        let pair = |pairs: &'_ mut Vec<(String, String)>, value| {
            let place = pairs.iter_mut().find(|(known, _)| known == name);
            place.map(|(_, place)| *place = value).is_some()
        };
        match (part, &mut self.transport) {
            (ConnectionPart::Variable, Transport::Stdio { env, .. }) => pair(env, value),
            (ConnectionPart::Header, Transport::Remote { headers, .. }) => pair(headers, value),
            (ConnectionPart::Url, Transport::Remote { url, .. }) => replace_hidden(url, value),
            (ConnectionPart::HealthCheckUrl, _) => {
                self.health_check_url.as_mut().is_some_and(|url| replace_hidden(url, value))
            }
            (ConnectionPart::ClientSecret, _) => {
                let place = self.oauth.as_mut().and_then(|client| client.client_secret.as_mut());
                place.map(|place| *place = value).is_some()
            }
            _ => false,
        }
    }

    /// JSON without any of the values.
    pub(super) fn public(&self) -> String {
        let mut config = match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                json!({"command": command, "args": args, "env": names(env), "cwd": cwd})
            }
            Transport::Remote { url, kind, headers, .. } => {
                let kind = kind_word(*kind);
                json!({"url": shown_url(url), "kind": kind, "headers": names(headers)})
            }
        };
        if let Some(config) = config.as_object_mut() {
            config.extend(
                self.calls.values().map(|(it, value)| (it.stored.to_owned(), value.into())),
            );
            if let Some(on_change) = self.on_change {
                config.insert("on_change".to_owned(), on_change.word().into());
            }
            if let Some(client) = &self.oauth {
                config.insert("oauth".to_owned(), client.shown());
            }
            if let Some(rules) = &self.sandbox {
                config.insert("sandbox".to_owned(), sandbox_json(rules));
            }
        }
        config.to_string()
    }

    /// The way back: with `***` in the place of every value.
    pub(super) fn from_public(
        config: &str,
        health_check_url: Option<&str>,
    ) -> Result<Self, SecretError> {
        let config: Value =
            serde_json::from_str(config).map_err(|_| SecretError::Config("it is not JSON"))?;
        let config = config.as_object().ok_or(SecretError::Config("it is not an object"))?;
        let transport = match (config.get("command"), config.get("url")) {
            (Some(Value::String(command)), None) => Transport::Stdio {
                command: command.clone(),
                args: texts(config, "args")?,
                env: hidden(texts(config, "env")?),
                cwd: config.get("cwd").and_then(Value::as_str).map(str::to_owned),
            },
            (None, Some(Value::String(url))) => Transport::Remote {
                url: url.clone(),
                kind: kind_named(config.get("kind").and_then(Value::as_str))?,
                headers: hidden(texts(config, "headers")?),
                // Only a config file says something about it.
                network: NetworkRules::default(),
            },
            _ => return Err(SecretError::Config("it has no command and no URL")),
        };
        let whole = |name| u32::try_from(config.get(name)?.as_u64()?).ok();
        Ok(Self {
            transport,
            health_check_url: health_check_url.map(str::to_owned),
            calls: CallRules::of(|setting| whole(setting.stored)),
            on_change: config.get("on_change").and_then(Value::as_str).and_then(OnChange::of_word),
            oauth: config.get("oauth").map(OAuthClient::of_shown),
            // Never wider than it was meant: a server whose walls cannot be read is not started.
            sandbox: config
                .get("sandbox")
                .map(read_sandbox)
                .transpose()
                .map_err(|_| SecretError::Config("its sandbox is not known"))?,
        })
    }
}

/// Is there something in this URL that is not shown? As `shown_url` has it: any word of a query.
fn hides(url: &str) -> bool {
    url.split_once('?').is_some_and(|(_, query)| query.split('&').any(|word| !word.is_empty()))
}

fn replace_hidden(place: &mut String, value: String) -> bool {
    let fits = shown_url(&value) == *place;
    *place = value;
    fits
}

fn named(
    part: ConnectionPart,
    pairs: &[(String, String)],
) -> impl Iterator<Item = (ConnectionPart, &str, &str)> {
    pairs.iter().map(move |(name, value)| (part, name.as_str(), value.as_str()))
}

fn names(pairs: &[(String, String)]) -> Vec<&str> {
    pairs.iter().map(|(name, _)| name.as_str()).collect()
}

fn hidden(names: Vec<String>) -> Vec<(String, String)> {
    names.into_iter().map(|name| (name, SECRET_SHOWN.to_owned())).collect()
}

fn texts(config: &Map<String, Value>, name: &str) -> Result<Vec<String>, SecretError> {
    let list = config.get(name).and_then(Value::as_array);
    let list = list.ok_or(SecretError::Config("a list is missing"))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    list.iter().map(text).collect::<Option<_>>().ok_or(SecretError::Config("a list is no texts"))
}

fn kind_word(kind: RemoteKind) -> &'static str {
    match kind {
        RemoteKind::Http => "http",
        RemoteKind::Sse => "sse",
        RemoteKind::Detect => "detect",
    }
}

fn kind_named(word: Option<&str>) -> Result<RemoteKind, SecretError> {
    [RemoteKind::Http, RemoteKind::Sse, RemoteKind::Detect]
        .into_iter()
        .find(|kind| word == Some(kind_word(*kind)))
        .ok_or(SecretError::Config("its kind is not known"))
}
