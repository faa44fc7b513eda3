//! Says to a server who we are, where that comes of a login: keeps the header fresh, and gets another
//! one when the server refuses it. What was refused did not run, and is sent once more.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::login::{Authorization, Bearer, NoAuthorization, Refusal};
use crate::pump::FlushSet;
use crate::upstream::http::slot::{Exchange, Purpose, RefusedExchange};
use crate::upstream::http::transport::HttpTransport;
use crate::upstream::http::trouble::Trouble;
use crate::upstream::http::verdict::Facts;

/// A request is sent again so often for who sends it: with what was renewed, and with what somebody
/// has brought by logging in meanwhile.
// Bounded: a server that refuses every token would be asked for ever.
const MOST_INTRODUCTIONS: u8 = 2;
/// A header that could not be renewed is asked for again after this.
const PAUSE: Duration = Duration::from_secs(5);

/// Is it about who we are, and not about what we may do at all?
fn asks_who(status: u16, challenges: &[String]) -> bool {
    let is_bearer = |text: &String| text.to_ascii_lowercase().contains("bearer");
    status == 401 || (status == 403 && challenges.iter().any(is_bearer))
}

impl HttpTransport {
    /// The server does not take a request for who sends it: it waits for another header, if there can
    /// be one. The exchange comes back if there cannot.
    pub(super) fn introduce(
        &self,
        mut exchange: Exchange,
        facts: &Facts,
        touched: &mut FlushSet,
    ) -> Option<Exchange> {
        let again = exchange.purpose != Purpose::Goodbye
            && exchange.introductions < MOST_INTRODUCTIONS
            && asks_who(facts.status, &facts.challenges);
        if !self.has_login || !again {
            return Some(exchange);
        }
        exchange.introductions += 1;
        let mut pool = self.connections.pool.lock();
        if pool.closed {
            return None;
        }
        // It was sent with a header that has been replaced since: that one deserves a try of its
        // own.
        if exchange.introduction != pool.session.introduction {
            drop(pool); // there is another header since
            self.connections.start(exchange, touched);
            return None;
        }
        let refusal = Refusal {
            said: pool.session.authorization.clone(),
            status: facts.status,
            challenges: facts.challenges.clone(),
        };
        // Others would be refused as well.
        pool.is_unknown |= facts.status == 401;
        pool.park(RefusedExchange { exchange, refusal });
        drop(pool);
        self.unknown.notify_one();
        None
    }

    /// Careless servers repeat what they were told.
    pub(super) fn without_token(&self, text: &str) -> String {
        let said = self.connections.pool.lock().session.authorization.clone();
        let token = said.as_deref().map(|said| said.rsplit(' ').next().unwrap_or(said));
        match token.filter(|token| !token.is_empty()) {
            Some(token) => text.replace(token, "***"),
            None => text.to_owned(),
        }
    }

    /// This is said from now on; what waits for it is sent.
    fn authorize(&self, authorization: Option<&Authorization>, touched: &mut FlushSet) {
        let mut pool = self.connections.pool.lock();
        pool.session.authorize(authorization.map(|known| Arc::clone(&known.value)));
        pool.is_unknown = false;
        for exchange in pool.unpark(|_| true) {
            pool.wait_in_front(exchange);
        }
        pool.offer_idle(touched);
        drop(pool);
        self.connections.attention.notify_one();
    }
}

/// Keeps a line authorized for as long as it lives. Nothing is sent on it before the first answer.
pub(super) async fn keep(line: Arc<HttpTransport>, bearer: Arc<dyn Bearer>) {
    // The version before the value: a change in between is noticed below.
    let mut version = bearer.version();
    // Without a login the server is asked all the same: it may not want one.
    let mut held = bearer.authorization().await.unwrap_or_default();
    say(&line, held.as_ref());
    // Where nothing is said and nothing was refused, nobody has to be watched for.
    let mut matters = held.is_some();
    loop {
        let renewal = held.as_ref().and_then(|held| held.renew_at);
        tokio::select! {
            () = line.unknown.notified() => {
                matters = true;
                if let Some(other) = ask(&line, &*bearer).await {
                    held = Some(other);
                }
            }
            () = due(renewal) => held = renewed(&line, &*bearer, held).await,
            () = bearer.changed(version), if matters => {
                version = bearer.version();
                match bearer.authorization().await {
                    Ok(Some(other)) => {
                        say(&line, Some(&other));
                        held = Some(other);
                    }
                    _ if held.is_none() => {}
                    _ => return line.connections.give_up(Trouble::new("was logged out from", "")),
                }
            }
        }
    }
}

fn say(line: &HttpTransport, authorization: Option<&Authorization>) {
    let mut touched = FlushSet::default();
    line.authorize(authorization, &mut touched);
    touched.flush();
}

async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Another header before the server refuses this one.
async fn renewed(
    line: &HttpTransport,
    bearer: &dyn Bearer,
    held: Option<Authorization>,
) -> Option<Authorization> {
    match bearer.authorization().await {
        Ok(Some(other)) => {
            if held.as_ref().is_none_or(|held| held.value != other.value) {
                say(line, Some(&other));
            }
            Some(other)
        }
        Ok(None) => None, // the server will say what it thinks of it
        Err(NoAuthorization::Unavailable { retry_in, .. }) => {
            let renew_at = Some(Instant::now() + retry_in.unwrap_or(PAUSE).max(PAUSE));
            held.map(|held| Authorization { renew_at, ..held })
        }
        Err(no) => {
            line.connections.give_up(trouble(&no));
            None
        }
    }
}

/// For everything that was refused: another header, or why there is none.
async fn ask(line: &HttpTransport, bearer: &dyn Bearer) -> Option<Authorization> {
    let mut found = None;
    loop {
        // They stay where they are meanwhile: nobody has to ask whether they may have run.
        let refusal =
            line.connections.pool.lock().unknown.first().map(|first| first.refusal.clone());
        let Some(refusal) = refusal else { break };
        match bearer.refused(&refusal).await {
            Ok(other) => {
                say(line, Some(&other));
                found = Some(other);
            }
            Err(no) => deny(line, &refusal, &no),
        }
    }
    found
}

/// Whoever was refused like this learns why nothing can be done.
fn deny(line: &HttpTransport, refusal: &Refusal, no: &NoAuthorization) {
    let mut touched = FlushSet::default();
    let mut trouble = trouble(no);
    trouble.what.push_str(&format!(" (HTTP {}){}", refusal.status, line.by_way()));
    let same = |unknown: &RefusedExchange| {
        let other = &unknown.refusal;
        other.status == refusal.status
            && (refusal.status == 401 || other.challenges == refusal.challenges)
    };
    let mut pool = line.connections.pool.lock();
    let denied: Vec<_> = pool.unpark(same);
    pool.is_unknown = false;
    drop(pool);
    for exchange in denied {
        line.fail(exchange, trouble.clone(), false, &mut touched);
    }
    // A server that answers others who say nothing goes on doing so. One that does not take what is good
    // is connected to again, with ever longer pauses.
    let is_over =
        matches!(no, NoAuthorization::NeedsLogin { .. } | NoAuthorization::Rejected { .. });
    if is_over && refusal.said.is_some() {
        line.connections.give_up(trouble);
    } else {
        line.connections.pool.lock().offer_idle(&mut touched);
        line.connections.attention.notify_one();
    }
    touched.flush();
}

fn trouble(no: &NoAuthorization) -> Trouble {
    match no {
        NoAuthorization::NeedsLogin { what, advice }
        | NoAuthorization::NeedsMore { what, advice } => {
            Trouble { needs_login: true, ..Trouble::new(what, advice) }
        }
        NoAuthorization::Rejected { what, advice } => Trouble::new(what, advice),
        NoAuthorization::Unavailable { what, .. } => Trouble::new(what, "try again later"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_we_are_is_asked_by_401_and_by_a_challenge() {
        for (status, challenges, expected) in [
            (401, &[][..], true),
            (401, &["Basic realm=x"], true),
            (403, &[], false),
            (403, &["Basic realm=x"], false),
            (403, &["Basic realm=x", "bearer error=\"insufficient_scope\""], true),
            (400, &["Bearer"], false),
            (200, &["Bearer"], false),
        ] {
            let texts: Vec<String> = challenges.iter().map(ToString::to_string).collect();
            assert_eq!(asks_who(status, &texts), expected, "{status} {challenges:?}");
        }
    }
}
