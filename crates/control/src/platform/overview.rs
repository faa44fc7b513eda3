//! How everything does together: the figures of `GET /overview`.

use std::time::Duration;

use serde_json::Value;

use super::gate::grant_of;
use super::show::sees;
use super::{Platform, clock};
use crate::access::{Action, Principal};
use crate::api::view::{OverviewView, PieceView, Status};
use crate::health::{RecentActivity, SPAN, WindowSlice};

impl Platform {
    /// Of the servers that the asker sees.
    pub async fn overview(&self, asker: &Principal) -> Value {
        let context = self.context(grant_of(asker.grants(), "")).await;
        let roster = self.roster();
        let seen: Vec<_> = roster.all().filter(|entry| sees(asker, &entry.name)).collect();
        let statuses: Vec<Status> = seen.iter().map(|entry| self.status(entry)).collect();
        let lately = self.0.wards.recent_activity(seen.iter().map(|entry| entry.id.as_str()));
        let infos: Vec<_> = seen.iter().filter_map(|entry| self.info(entry)).collect();
        // Who else is there is for those who run it.
        let may = asker.require(Action::ReadClients).is_ok();
        let clients = may.then(|| self.0.settings.guests.all().len());
        OverviewView {
            statuses: &statuses,
            tools: self.all_tools_seen(&seen, asker),
            seconds: u32::try_from(SPAN.as_secs()).unwrap_or(u32::MAX),
            calls_per_minute: last_minute(&lately),
            lately: &lately.summary,
            open_calls: infos.iter().map(|info| info.open_calls).sum(),
            waiting_calls: infos.iter().map(|info| info.waiting_calls).sum(),
            restarts: seen.iter().map(|it| u64::from(self.0.wards.times_back(&it.id))).sum(),
            clients,
            context: &context,
            series: &series(&lately.pieces),
            hour: &series(&lately.minutes),
        }
        .json()
    }
}

/// The last whole minute: the piece that is not over yet does not count.
fn last_minute(lately: &RecentActivity) -> u64 {
    let whole = lately.pieces.iter().rev().skip(1).take(6);
    whole.map(|(_, piece)| piece.calls).sum()
}

pub(super) fn series(pieces: &[(Duration, WindowSlice)]) -> Vec<PieceView> {
    let now = clock::now();
    let view = |(ago, piece): &(Duration, WindowSlice)| PieceView {
        at: now - i64::try_from(ago.as_millis()).unwrap_or_default(),
        calls: piece.calls,
        failed_calls: piece.failed_calls,
        tool_errors: piece.tool_errors,
        p50: piece.p50,
        p95: piece.p95,
    };
    pieces.iter().map(view).collect()
}
