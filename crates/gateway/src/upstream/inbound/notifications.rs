//! Notifications of servers: for whom each is, and what becomes of it.

use std::sync::Arc;

use trunkline_catalog::ListKind;
use trunkline_wire::{Message, decode, member, scan, upstream_id};

use crate::call::{CallOwner, Client, Level};
use crate::era;
use crate::pump::FlushSet;
use crate::upstream::calls::pending::Waiter;
use crate::upstream::connection::Connection;
use crate::upstream::questions::parked::Parked;
use crate::upstream::transport::UpstreamId;

use crate::upstream::questions::concern::{Concern, Concerned, hears, say};

/// The first word on a subscription of ours.
const ACKNOWLEDGED: &[u8] = b"notifications/subscriptions/acknowledged";

impl Connection {
    pub(in crate::upstream) fn notified(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        match &*message.method() {
            _ if self.listens.is_told_twice(message) => {}
            // Only clients say these: the server has written back what it was sent.
            b"notifications/initialized" | b"notifications/roots/list_changed" => {}
            method if message.params.meta.subscription.is_some() && method != ACKNOWLEDGED => {
                self.notified_of_ours(message, origin, touched);
            }
            b"notifications/progress" => self.link.progressed(message, touched),
            b"notifications/tools/list_changed" => self.changes.mark([ListKind::Tools]),
            _ if self.link.simple => {}
            b"notifications/prompts/list_changed" => self.changes.mark([ListKind::Prompts]),
            b"notifications/resources/list_changed" => {
                self.changes.mark([ListKind::Resources, ListKind::Templates]);
            }
            b"notifications/resources/updated" => {
                self.subscriptions.updated(message, &self.link.key.name(), touched);
            }
            b"notifications/message" => self.logged(message, origin, touched),
            b"notifications/cancelled"
                if self.listens.stopped_telling(&self.link, message, touched) => {}
            b"notifications/cancelled" => self.unasked(message, touched),
            ACKNOWLEDGED => {
                let id = message.params.meta.subscription.map(|at| at.of(message.bytes));
                if let Some(id) = id.and_then(upstream_id) {
                    self.listens.acknowledged(id);
                }
            }
            _ => self.announced(message, origin, touched),
        }
    }

    /// What came on a subscription of ours, without its mark.
    fn notified_of_ours(
        self: &Arc<Self>,
        message: &Message<'_>,
        origin: Option<UpstreamId>,
        touched: &mut FlushSet,
    ) {
        let untagged = era::untagged(message);
        if let Ok(message) = scan(&untagged) {
            self.notified(&message, origin, touched);
        }
    }

    /// A word of the server's log: for the client whose call it belongs to; if no call is open, for
    /// everybody who wants to hear it.
    fn logged(&self, message: &Message<'_>, origin: Option<UpstreamId>, touched: &mut FlushSet) {
        let level = member(message.text(message.params.span), "level").and_then(decode);
        let level = level.and_then(|level| Level::known(&level));
        match self.concerned().concern(origin) {
            Concern::One(client, cause) if hears(&client, cause.as_ref(), level) => {
                say(&client, cause.as_ref(), message, touched);
            }
            Concern::Nobody => {
                for client in
                    self.audience.of(&self.link.key.name()).iter().filter(|it| it.hears(level))
                {
                    say(client, None, message, touched);
                }
            }
            Concern::One(..) => {}
            Concern::Unclear => {
                tracing::debug!(server = %self.link.key, "a log message that may be any client's is dropped");
            }
        }
    }

    /// The server takes a question back.
    fn unasked(self: &Arc<Self>, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(id_at) = message.params.request_id else { return };
        let parked: Vec<Arc<Parked>> = {
            let pending = self.link.pending.lock();
            let parked = pending.iter().filter_map(|(_, waiter)| match waiter {
                Waiter::Parked(parked) => Some(Arc::clone(parked)),
                _ => None,
            });
            parked.collect()
        };
        parked.iter().for_each(|parked| parked.unask(id_at.of(message.bytes)));
        let owner = Arc::clone(self) as Arc<dyn CallOwner>;
        for client in self.audience.all() {
            client.unask(message, id_at, &owner, touched);
        }
    }

    /// Something this version does not know: it goes where it can only be meant to go.
    fn announced(&self, message: &Message<'_>, origin: Option<UpstreamId>, touched: &mut FlushSet) {
        let hears =
            |client: &Client| self.parking.tasks.may_hear(message, self.link.key.id(), client);
        match self.concerned().concern(origin) {
            Concern::One(client, cause) if hears(&client) => {
                say(&client, cause.as_ref(), message, touched);
            }
            Concern::One(..) => {}
            Concern::Nobody => {
                let all = self.audience.of(&self.link.key.name());
                for client in all.iter().filter(|client| hears(client)) {
                    say(client, None, message, touched);
                }
            }
            Concern::Unclear => {
                tracing::debug!(server = %self.link.key, "a notification that may be any client's is dropped");
            }
        }
    }

    pub(in crate::upstream) fn concerned(&self) -> Concerned<'_> {
        let now = self.parking.millis();
        Concerned { link: &self.link, audience: &self.audience, now }
    }
}
