//! `Trouble`: why a server in the network cannot be used, in words that say what to do.

use std::io;
use std::time::Duration;

use trunkline_http::proxy::ChosenProxy;
use trunkline_http::{Scheme, Url};

use crate::limits::{CONNECT, TUNNEL, shortened};
use crate::upstream::http::tls::TlsFault;
use crate::upstream::http::tunnel::NoTunnel;
use crate::upstream::lifecycle::handshake::{HandshakeError, LOOP_ADVICE};
use crate::upstream::lifecycle::state::{Failure, Phase};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Completes "server X …".
    pub(super) what: String,
    pub(super) advice: String,
    /// Trying again cannot help.
    pub(super) permanent: bool,
    /// Nobody there: it did not even come to a conversation.
    pub(super) unreached: bool,
    /// Nothing helps but somebody logging in.
    pub(super) needs_login: bool,
    /// What a server would say that speaks the other transport.
    pub(super) not_this_way: bool,
}

impl Trouble {
    pub(super) fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            advice: advice.into(),
            permanent: false,
            unreached: false,
            needs_login: false,
            not_this_way: false,
        }
    }

    fn unreached(what: String, advice: &str) -> Self {
        Self { unreached: true, ..Self::new(what, advice) }
    }

    pub(super) fn circle() -> Self {
        let advice = LOOP_ADVICE;
        Self { permanent: true, ..Self::new(HandshakeError::Loop.to_string(), advice) }
    }

    pub(super) fn bad_url(why: &str) -> Self {
        let what = format!("has a bad `url`: {why}");
        Self { permanent: true, ..Self::unreached(what, "correct it in the config") }
    }

    pub(super) fn bad_header(name: &str, why: &str) -> Self {
        let what = format!("has a bad header in its config: `{name}` {why}");
        Self { permanent: true, ..Self::unreached(what, "correct it in the config") }
    }

    pub(super) fn unresolved(url: &Url, error: &io::Error) -> Self {
        let what = format!("cannot be found: no address for {}: {error}", url.host());
        Self::unreached(what, "check the host in `url`, and the network")
    }

    pub(super) fn unconnected(url: &Url, error: &io::Error) -> Self {
        let what = format!("cannot be reached at {}: {}", url.origin(), words(error));
        let advice = match error.kind() {
            io::ErrorKind::ConnectionRefused => "start it, or check host and port in `url`",
            _ => "check host and port in `url`, and the network",
        };
        Self::unreached(what, advice)
    }

    pub(super) fn no_connection_within(url: &Url, limit: Duration) -> Self {
        let seconds = limit.as_secs();
        let what =
            format!("cannot be reached at {}: no connection within {seconds} s", url.origin());
        Self::unreached(what, "check host and port in `url`, and the network")
    }

    pub(super) fn insecure(url: &Url, fault: &TlsFault) -> Self {
        let what = format!("cannot be reached securely at {}: {}", url.origin(), fault.why);
        Self::unreached(what, fault.advice)
    }

    pub(super) fn bad_tls(why: &str) -> Self {
        Self::unreached(format!("cannot be connected to: {why}"), "correct it in the config")
    }

    pub(super) fn no_proxy(proxy: &ChosenProxy, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "its name has no address".to_owned(),
            io::ErrorKind::TimedOut => format!("no connection within {} s", CONNECT.as_secs()),
            _ => words(error),
        };
        let what = format!("cannot be reached: its proxy {} cannot be: {why}", proxy.proxy);
        Self::unreached(what, &format!("check {}, and the proxy", proxy.named_by))
    }

    pub(super) fn insecure_proxy(proxy: &ChosenProxy, fault: &TlsFault) -> Self {
        let (place, why) = (&proxy.proxy, &fault.why);
        let what = format!("cannot be reached: its proxy {place} cannot be securely: {why}");
        Self::unreached(what, &format!("check {}, and the proxy's certificate", proxy.named_by))
    }

    /// `end`: whom the proxy was asked for.
    pub(super) fn no_tunnel(proxy: &ChosenProxy, end: &str, why: &NoTunnel) -> Self {
        let place = &proxy.proxy;
        let named_by = proxy.named_by;
        let (what, advice) = match why {
            NoTunnel::WantsLogin | NoTunnel::WrongLogin => return Self::proxy_login(proxy),
            NoTunnel::Forbidden(how) => (
                format!("its proxy {place} does not allow a connection to {end} ({how})"),
                "allow it there, or connect directly: NO_PROXY, or \"proxy\": \"none\"".to_owned(),
            ),
            NoTunnel::Unreached(how) => (
                format!("its proxy {place} cannot reach {end} ({how})"),
                "check host and port in `url`, and whether the proxy can reach it".to_owned(),
            ),
            NoTunnel::Strange(how) => {
                (format!("its proxy {place} {how}"), format!("check scheme and port in {named_by}"))
            }
            NoTunnel::Silent => (
                format!(
                    "its proxy {place} did not answer within {} s",
                    shortened(TUNNEL).as_secs_f64()
                ),
                format!("check {named_by}, and the proxy"),
            ),
            NoTunnel::Broken(error) => (
                format!("its proxy {place} broke off the connection: {}", words(error)),
                format!("check scheme and port in {named_by}, and the proxy"),
            ),
        };
        Self::unreached(format!("cannot be reached: {what}"), &advice)
    }

    /// HTTP 407, or what stands for it.
    pub(super) fn proxy_login(proxy: &ChosenProxy) -> Self {
        let (place, named_by) = (&proxy.proxy, proxy.named_by);
        let (what, advice) = match proxy.proxy.credentials() {
            None => (
                format!("its proxy {place} wants a user name and a password"),
                format!("put USER:PASSWORD@ before the host in {named_by}"),
            ),
            Some(_) => (
                format!("its proxy {place} does not accept the user name and password"),
                format!("correct USER:PASSWORD@ in {named_by}"),
            ),
        };
        Self::unreached(format!("cannot be reached: {what}"), &advice)
    }

    /// A server that somebody else has named: its name is resolved here, too.
    pub(super) fn guarded_through_proxy(self) -> Self {
        let advice = "its address has to be known here although a proxy connects to it, because it was \
                      registered over REST; name it in the config file to leave that to the proxy";
        Self { advice: format!("{}; {advice}", self.advice), ..self }
    }

    pub(super) fn phase(&self, was_running: bool) -> Phase {
        match (was_running, self.unreached) {
            (true, _) => Phase::Runtime,
            (false, true) => Phase::Startup,
            (false, false) => Phase::Initialization,
        }
    }

    /// As the state of the server; `shown` makes the words fit to be shown.
    pub(super) fn failure(&self, phase: Phase, shown: impl Fn(&str) -> String) -> Failure {
        Failure {
            phase,
            what: shown(&self.what),
            advice: self.advice.clone(),
            permanent: self.permanent,
            needs_login: self.needs_login,
            is_private: false,
            stderr: Vec::new(),
        }
    }
}

/// Without the number the system gives the error.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => {
            let text = error.to_string();
            text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
        }
    }
}

/// A URL as it may be shown: its query may hold a secret.
pub(super) fn shown_url(url: &Url) -> String {
    format!("{}{}", url.origin(), url.path())
}

/// Is all that may be wrong the missing `s` of the scheme?
pub(super) fn is_upgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == Scheme::Http && to.scheme() == Scheme::Https && from.host() == to.host()
}
