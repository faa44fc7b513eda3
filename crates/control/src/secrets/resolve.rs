//! At connect: references become values, all of them or none, and what is secret is known to be.

use std::collections::{BTreeSet, HashMap};

use trunkline_catalog::config::{Secrets, Transport};
use trunkline_http::{Url, is_field_value};
use zeroize::Zeroizing;

use super::allow::AllowedVariables;
use super::connection::{Connection, ConnectionPart};
use super::reference::{ReferencePiece, pieces};

/// Where values come from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Looks a variable of the environment up. Asked for allowed ones only.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    pub allowed: &'a AllowedVariables,
    pub named: &'a HashMap<String, Zeroizing<String>>,
}

impl std::fmt::Debug for Sources<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("allowed", self.allowed).finish_non_exhaustive()
    }
}

/// Ready to be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub connection: Connection,
    /// Every value that must not be shown.
    pub secrets: Secrets,
}

/// Why a server cannot be connected. Names variables and places, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("the variable `{name}` is not set (in {place})")]
    NotSet { name: String, place: String },
    #[error(
        "the variable `{name}` may not be used by registered servers (in {place}); the operator \
         can allow it: `--allow-env {name}`"
    )]
    NotAllowed { name: String, place: String },
    #[error("there is no secret `{name}` (in {place})")]
    NoSecret { name: String, place: String },
    #[error("the secret `{name}` may not be used in {place}: everybody can see it there")]
    Exposed { name: String, place: String },
    #[error("a `${{…}}` in {place} is not a reference")]
    Broken { place: String },
    #[error("{place} cannot be used with the values of its references: {why}")]
    Unusable { place: String, why: &'static str },
}

impl Unresolved {
    /// The flag of `serve` that would allow it.
    pub fn flag(&self) -> Option<String> {
        match self {
            Self::NotAllowed { name, .. } => Some(format!("--allow-env {name}")),
            _ => None,
        }
    }
}

/// Everything that is missing is named at once.
pub fn resolve(connection: &Connection, sources: Sources<'_>) -> Result<Resolved, Vec<Unresolved>> {
    let mut filler = Filler { sources, secrets: Secrets::new(), faults: Vec::new() };
    let mut resolved = connection.clone();
    match &mut resolved.transport {
        Transport::Stdio { command, args, env, cwd } => {
            filler.open(command, "the command");
            for (number, arg) in (1..).zip(args) {
                filler.open(arg, &format!("argument {number}"));
            }
            if let Some(cwd) = cwd {
                filler.open(cwd, "the working directory");
            }
            for (name, value) in env {
                filler.secret(name, value, ConnectionPart::Variable);
            }
        }
        Transport::Remote { url, headers, .. } => {
            filler.url(url, ConnectionPart::Url);
            for (name, value) in headers {
                filler.secret(name, value, ConnectionPart::Header);
            }
        }
    }
    if let Some(url) = &mut resolved.health_check_url {
        filler.url(url, ConnectionPart::HealthCheckUrl);
    }
    if let Some(secret) = resolved.oauth.as_mut().and_then(|it| it.client_secret.as_mut()) {
        filler.secret("client_secret", secret, ConnectionPart::ClientSecret);
    }
    if filler.faults.is_empty() {
        Ok(Resolved { connection: resolved, secrets: filler.secrets })
    } else {
        Err(filler.faults)
    }
}

/// What can be said when a server is registered: variables that are not allowed, secrets where they
/// would be seen. Whether there is a value is found out at connect.
pub fn forbidden(connection: &Connection, allowed: &AllowedVariables) -> Vec<Unresolved> {
    let anything = |_: &str| Some(String::new());
    let named = secrets_named(connection);
    let named = named.into_iter().map(|name| (name, Zeroizing::new(String::new()))).collect();
    let sources = Sources { environment: &anything, allowed, named: &named };
    let faults = resolve(connection, sources).err().unwrap_or_default();
    let is_certain = |fault: &Unresolved| !matches!(fault, Unresolved::Unusable { .. });
    faults.into_iter().filter(is_certain).collect()
}

/// The secrets of their own that a connection refers to.
pub fn secrets_named(connection: &Connection) -> BTreeSet<String> {
    let texts = connection.texts().into_iter().map(|(_, text)| text);
    let names = texts.flat_map(pieces).filter_map(|piece| match piece {
        ReferencePiece::Secret(name) => Some(name.to_owned()),
        _ => None,
    });
    names.collect()
}

struct Filler<'a> {
    sources: Sources<'a>,
    secrets: Secrets,
    faults: Vec<Unresolved>,
}

/// What a value may be put into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Seen in the list of processes.
    Open,
    Closed,
    /// `&` and the like are part of the value.
    Query,
}

impl Filler<'_> {
    fn open(&mut self, text: &mut String, place: &str) {
        *text = self.filled(text, place, Field::Open);
        if text.contains('\0') {
            self.unusable(place.to_owned(), "there is a NUL in it");
        }
    }

    /// A header or a variable: the whole value counts as secret, whatever it is made of.
    fn secret(&mut self, name: &str, text: &mut String, part: ConnectionPart) {
        let place = part.said(name);
        *text = self.filled(text, &place, Field::Closed);
        match part {
            ConnectionPart::Variable if text.contains('\0') => {
                self.unusable(place, "there is a NUL in it");
            }
            ConnectionPart::Variable => self.secrets.add(name, text),
            _ if text.contains(['\r', '\n', '\0']) => {
                self.unusable(place, "there is a line end or NUL in it");
            }
            _ if !is_field_value(text.as_bytes()) => {
                self.unusable(place, "there is a control character in it");
            }
            _ => self.secrets.add(name, text),
        }
    }

    fn url(&mut self, url: &mut String, part: ConnectionPart) {
        let place = part.said("");
        let origin = Url::parse(url).map(|url| url.origin().clone());
        let filled = match url.split_once('?') {
            None => self.filled(url, &place, Field::Closed),
            Some((address, query)) => {
                let address = self.filled(address, &place, Field::Closed);
                let query = self.filled(query, &place, Field::Query);
                for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
                    self.secrets.add(name, value);
                }
                format!("{address}?{query}")
            }
        };
        *url = filled;
        match (Url::parse(url), origin) {
            (Ok(now), Ok(before)) if *now.origin() == before => {}
            (Ok(_), Ok(_)) => self.unusable(place, "it would lead to another host"),
            _ => self.unusable(place, "it is not a URL any more"),
        }
    }

    fn filled(&mut self, text: &str, place: &str, field: Field) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                ReferencePiece::Literal(literal) => out.push_str(literal),
                ReferencePiece::Broken => {
                    self.faults.push(Unresolved::Broken { place: place.to_owned() });
                }
                ReferencePiece::Variable { name, default } => {
                    if let Some(value) = self.variable(name, default, place) {
                        put(&mut out, &value, field);
                    }
                }
                ReferencePiece::Secret(name) => {
                    if let Some(value) = self.named(name, place, field) {
                        put(&mut out, &value, field);
                    }
                }
            }
        }
        out
    }

    fn variable(&mut self, name: &str, default: Option<&str>, place: &str) -> Option<String> {
        let (name, place) = (name.to_owned(), place.to_owned());
        if !self.sources.allowed.allows(&name) {
            self.faults.push(Unresolved::NotAllowed { name, place });
            return None;
        }
        match ((self.sources.environment)(&name), default) {
            (Some(value), _) => {
                self.secrets.add(&name, &value);
                Some(value)
            }
            (None, Some(default)) => Some(default.to_owned()),
            (None, None) => {
                self.faults.push(Unresolved::NotSet { name, place });
                None
            }
        }
    }

    fn named(&mut self, name: &str, place: &str, field: Field) -> Option<String> {
        let value = self.sources.named.get(name);
        let (name, place) = (name.to_owned(), place.to_owned());
        match value {
            _ if field == Field::Open => self.faults.push(Unresolved::Exposed { name, place }),
            None => self.faults.push(Unresolved::NoSecret { name, place }),
            Some(value) => {
                self.secrets.add(&name, value);
                return Some(value.to_string());
            }
        }
        None
    }

    fn unusable(&mut self, place: String, why: &'static str) {
        self.faults.push(Unresolved::Unusable { place, why });
    }
}

fn put(out: &mut String, value: &str, field: Field) {
    if field != Field::Query {
        out.push_str(value);
        return;
    }
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}
