//! Calls that wait for their client give way when others ask the same server.

use std::sync::Arc;

use crate::pump::FlushSet;
use crate::upstream::calls::pending::Waiter;
use crate::upstream::connection::Connection;
use crate::upstream::transport::UpstreamId;

impl Connection {
    /// Gives these calls up, so that what is asked next can be somebody's.
    pub(in crate::upstream) fn clear_the_way(&self, calls: &[UpstreamId], touched: &mut FlushSet) {
        for call in calls {
            let parked = match self.link.pending.lock().get(*call).map(|entry| &entry.waiter) {
                Some(Waiter::Parked(parked)) => Arc::clone(parked),
                _ => continue,
            };
            if self.parking.give_way(self, &parked, touched) {
                tracing::info!(server = %self.link.key, "a call whose client has not come again gives way");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use parking_lot::Mutex;
    use trunkline_catalog::Listing;
    use trunkline_wire::{Edits, Id, Message, scan};

    use super::*;
    use crate::call::{Discard, Payload, ReplyTo, RequestEra, Stateless};
    use crate::deadlines::Deadlines;
    use crate::limits::{GIVES_WAY, Limits};
    use crate::pump::Refused;
    use crate::upstream::connection::ConnectionParts;
    use crate::upstream::connection::broken::BrokenLines;
    use crate::upstream::questions::attribution::in_the_way;
    use crate::upstream::questions::attribution::tests::calls;
    use crate::upstream::questions::parked::Parked;
    use crate::upstream::questions::parking::Parking;
    use crate::upstream::transport::{Heading, Transport};

    /// A server that only listens.
    #[derive(Debug, Default)]
    struct Listener(Mutex<Vec<String>>);

    impl Transport for Listener {
        fn send(
            &self,
            _: Option<(UpstreamId, &Heading<'_>)>,
            bytes: &[u8],
            edits: &Edits<'_>,
            _: &mut FlushSet,
        ) -> Result<u64, Refused> {
            let mut out = Vec::new();
            edits.write(bytes, &mut out);
            self.0.lock().push(String::from_utf8(out).unwrap());
            Ok(0)
        }
        fn may_have_run(&self, _: UpstreamId, _: u64) -> bool {
            true
        }
        fn is_on_its_way(&self, _: UpstreamId) -> bool {
            true
        }
        fn withdraw(&self, _: UpstreamId, _: u64) -> bool {
            true
        }
        fn forget(&self, _: UpstreamId) {}
        fn ties_questions_to_calls(&self) -> bool {
            false
        }
        fn learn(&self, _: &Listing) {}
        fn most_repeats(&self) -> u8 {
            3
        }
        fn is_pipe(&self) -> bool {
            false
        }
        fn end(&self) {}
        fn close(&self) {}
    }

    struct Rig {
        connection: Arc<Connection>,
        server: Arc<Listener>,
    }

    fn rig() -> Rig {
        let server = Arc::new(Listener::default());
        let connection = Arc::new(Connection::new(ConnectionParts {
            key: crate::identity::Identity::new("s", "s"),
            limits: Limits::default(),
            transport: Arc::clone(&server) as Arc<dyn Transport>,
            broken: BrokenLines::new(Arc::default()),
            audience: Arc::default(),
            simple: false,
            deadlines: Arc::new(Deadlines::new(None)),
            parking: Arc::new(Parking::begun(2 * GIVES_WAY)),
            options: crate::upstream::connection::ConnectionOptions::default(),
        }));
        Rig { connection, server }
    }

    /// A call as somebody makes it, and as it comes again with an answer.
    fn call(more: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{more}"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}}}}}}}}"#
        )
    }

    fn reply(message: &Message<'_>, who: &str) -> ReplyTo {
        let how = Stateless::read(message, &who.as_bytes().into()).unwrap();
        let era = RequestEra::Stateless(how);
        ReplyTo::new(Arc::default(), Id::new(b"1"), None, Arc::new(Discard), era)
    }

    impl Rig {
        fn call(&self, who: &str) {
            let text = call("");
            let message = scan(text.as_bytes()).unwrap();
            let reply = reply(&message, who);
            self.connection.submit(&message, &[], reply, &mut FlushSet::default()).unwrap();
        }

        fn says(&self, message: &str) {
            let payload = Payload::Borrowed(message.as_bytes());
            self.connection.receive(payload, None, &mut FlushSet::default());
        }

        fn asks(&self, id: &str) {
            self.says(&format!(
                r#"{{"jsonrpc":"2.0","id":"{id}","method":"elicitation/create","params":{{}}}}"#
            ));
        }

        /// What the server was told that has this in it.
        fn told(&self, part: &str) -> Vec<String> {
            let told = self.server.0.lock();
            told.iter().filter(|line| line.contains(part)).cloned().collect()
        }

        fn parked(&self) -> Vec<Arc<Parked>> {
            let pending = self.connection.link.pending.lock();
            let parked = pending.iter().filter_map(|(_, waiter)| match waiter {
                Waiter::Parked(parked) => Some(Arc::clone(parked)),
                _ => None,
            });
            parked.collect()
        }
    }

    #[test]
    fn after_two_minutes_a_call_that_waits_lets_others_be_asked() {
        let rig = rig();
        let parking = &rig.connection.parking;
        rig.call("alice");
        rig.asks("first");
        let alices = rig.parked().pop().unwrap();
        let state = parking.state_of(&alices).unwrap();
        rig.call("bob");
        rig.asks("early");
        assert!(rig.told("\"early\"")[0].contains("per-session"), "nobody was asked");
        assert_eq!(rig.parked().len(), 1, "it has not waited for long");
        let long_ago = parking.millis() - u64::try_from(GIVES_WAY.as_millis()).unwrap() - 1;
        alices.told.store(long_ago, Ordering::Relaxed);
        rig.asks("refused");
        assert!(rig.told("\"refused\"")[0].contains("per-session"), "it may still be alice's");
        assert_eq!(rig.parked().len(), 0, "her call gives way");
        assert!(rig.told("\"first\"")[0].contains("error"), "nobody will answer that");
        assert_eq!(rig.told("notifications/cancelled").len(), 1);
        rig.asks("soon");
        assert!(rig.told("\"soon\"")[0].contains("error"), "the server may not know yet");
        let ping = rig.told("\"ping\"").pop().unwrap();
        let id = scan(ping.as_bytes()).unwrap().id().to_vec();
        let id = String::from_utf8(id).unwrap();
        rig.says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        rig.asks("last");
        assert_eq!(rig.parked().len(), 1, "bob is asked");
        let again = call(&format!(r#""requestState":"{state}","inputResponses":{{}},"#));
        let again = scan(again.as_bytes()).unwrap();
        let late = parking.resume(&again, reply(&again, "alice"), &mut FlushSet::default());
        let late = late.unwrap_err();
        late.answer(&mut FlushSet::default());
        assert!(late.error.to_string().contains("it has expired"));
    }

    #[test]
    fn who_has_come_in_time_keeps_its_call() {
        let rig = rig();
        let parking = &rig.connection.parking;
        rig.call("alice");
        rig.asks("first");
        let alices = rig.parked().pop().unwrap();
        let state = parking.state_of(&alices).unwrap();
        let answer = r#""inputResponses":{"question-1":{}},"#;
        let again = call(&format!(r#""requestState":"{state}",{answer}"#));
        let again = scan(again.as_bytes()).unwrap();
        parking.resume(&again, reply(&again, "alice"), &mut FlushSet::default()).unwrap();
        assert!(!parking.give_way(&rig.connection, &alices, &mut FlushSet::default()));
        assert_eq!(rig.told("notifications/cancelled").len(), 0);
        assert_eq!(rig.connection.link.open_calls(), 1);
    }

    #[test]
    fn what_has_waited_for_long_gives_way_where_that_helps() {
        for (open, expected) in [
            ("", vec![]),
            ("b", vec![]),
            // `l`: it has waited for long; `p`: not yet.
            ("al b", vec![1]),
            ("ap b", vec![]),
            ("?l ?", vec![1]),
            ("?l s", vec![1]),
            ("?l ?l ?", vec![1, 2]),
            ("al b b", vec![1]),
            ("al bp", vec![1]),
            // Its own caller's are not in its way.
            ("bl al b", vec![2]),
            // It would not help: others are in the way as well, or nobody is left who can be asked.
            ("al b c", vec![]),
            ("al bp c", vec![]),
            ("al bl", vec![]),
            ("al b-", vec![]),
            ("al b- b", vec![1]),
        ] {
            assert_eq!(in_the_way(&calls(open, &Default::default())), expected, "{open}");
        }
    }
}
