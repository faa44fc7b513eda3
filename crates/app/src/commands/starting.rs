//! Shows how many servers are up while a command waits for them.

use std::time::Duration;

use tokio::time::{Instant, interval_at};
use trunkline_gateway::{Gateway, State, Status};

use crate::client::line;
use crate::terminal::StatusLine;

/// How often the line is redrawn; a person reads no faster.
const LOOK: Duration = Duration::from_millis(100);

/// A command that answers within this time shows nothing but its answer.
pub(super) const UNREMARKED: Duration = Duration::from_secs(1);

/// Waits until every server has started or failed, or their time is over. `quiet`: how long nothing is said.
pub(super) async fn settled(gateway: &Gateway, progress: &StatusLine, quiet: Duration) {
    let mut clock = interval_at(Instant::now() + quiet, LOOK);
    let settled = gateway.settled();
    tokio::pin!(settled);
    loop {
        tokio::select! {
            () = &mut settled => return,
            _ = clock.tick() => progress.show(&words(&gateway.statuses())),
        }
    }
}

/// `starting servers: 3 of 5 up, 1 failed, waiting for git, fetch …`
fn words(statuses: &[(String, Status)]) -> String {
    let count = |is: fn(&State) -> bool| statuses.iter().filter(|(_, it)| is(&it.state)).count();
    let up = count(|state| *state == State::Running);
    let failed = match count(|state| matches!(state, State::Failed(_))) {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let is_waited_for = |(_, it): &&(String, Status)| it.state == State::Initializing;
    let waiting: Vec<String> =
        statuses.iter().filter(is_waited_for).map(|(key, _)| line(key)).collect();
    let waiting = match waiting.is_empty() {
        true => String::new(),
        false => format!(", waiting for {}", waiting.join(", ")),
    };
    format!("starting servers: {up} of {} up{failed}{waiting} …", statuses.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_up_are_counted() {
        let with = |state: State| ("a".to_owned(), Status { state, ..Status::default() });
        let all = [with(State::Running), with(State::Initializing), with(State::Running)];
        assert_eq!(words(&all), "starting servers: 2 of 3 up, waiting for a …");
        assert_eq!(words(&[with(State::Running)]), "starting servers: 1 of 1 up …");
    }
}
