//! Which era a server is of: it is asked with `server/discover`, and judged by what it answers.

use tokio::time::timeout;
use trunkline_wire::{Kind, MODERN, decode, elements, member, scan};

use crate::era::Era;
use crate::instance::{self, Instance};
use crate::limits::{PROBE, PROBE_REMOTE};
use crate::lock::{Mutex, rank};
use crate::upstream::calls::link::own_stamp;
use crate::upstream::connection::Connection;
use crate::upstream::lifecycle::handshake::{HandshakeError, ServerHello, initialize};
use crate::upstream::shown::refusal_text;
use crate::upstream::transport::{Answer, UpstreamId};

const DISCOVER: &str = "server/discover";

/// How a conversation with a server is opened.
#[derive(Clone, Copy, Debug)]
pub(in crate::upstream) enum Opening<'a> {
    Initialize,
    /// It is of the stateless era, or is to be asked in another way.
    Discover,
    /// It is of the stateless era, however long it takes to say so.
    Insist,
    /// As the server wants it; a process is started anew where the question has ended it.
    Find(&'a EraMemory),
}

/// What is known of the era of a server that is started, over all its lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Knowledge {
    #[default]
    Nothing,
    /// It has been asked and has not answered yet.
    Asked,
    /// It has refused the question and has answered nothing since: some end once they have.
    Refused,
    Found(Era),
}

// Held for a step of the state, across no await. The end of a process is judged by what was known
// at that moment.
#[derive(Debug, Default)]
pub(in crate::upstream) struct EraMemory(Mutex<Knowledge, rank::KnownEra>);

impl EraMemory {
    /// For another process of the same server.
    pub(in crate::upstream) fn passed_on(&self) -> Self {
        let knowledge = *self.0.lock();
        let settled = matches!(knowledge, Knowledge::Found(_));
        Self(Mutex::new(if settled { knowledge } else { Knowledge::Nothing }))
    }

    /// The process has ended. True if that was over the question, refused or not: it is one of those
    /// that end at a first message they do not know, and is started again without.
    pub(in crate::upstream) fn ended(&self) -> bool {
        let mut knowledge = self.0.lock();
        let by_question = matches!(*knowledge, Knowledge::Asked | Knowledge::Refused);
        if by_question {
            *knowledge = Knowledge::Found(Era::Legacy);
        }
        by_question
    }

    fn set(&self, knowledge: Knowledge) {
        *self.0.lock() = knowledge;
    }

    fn get(&self) -> Knowledge {
        *self.0.lock()
    }
}

/// What the answer to `server/discover` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Modern,
    /// It is to be opened with `initialize`.
    Legacy,
    /// It is of the stateless era, and did not like how it was asked: it is asked once more.
    Again,
}

/// The fallback is not tied to any one error: servers of the older era refuse what they do not know
/// in many ways.
fn verdict(answer: &[u8]) -> Verdict {
    let Ok(message) = scan(answer) else { return Verdict::Legacy };
    if message.kind == Kind::Answer {
        let result = message.text(message.result);
        let names_it = names_modern(member(result, "supportedVersions").unwrap_or_default());
        return if names_it { Verdict::Modern } else { Verdict::Legacy };
    }
    let error = message.text(message.error);
    let supported = member(error, "data").and_then(|data| member(data, "supported"));
    match member(error, "code") {
        // Of the versions we speak in this era there is one: a server that has it may take it now.
        Some(b"-32022") => match supported {
            Some(versions) if !names_modern(versions) => Verdict::Legacy,
            _ => Verdict::Again,
        },
        Some(b"-32020" | b"-32021") => Verdict::Again,
        _ => Verdict::Legacy,
    }
}

fn names_modern(versions: &[u8]) -> bool {
    elements(versions).any(|at| decode(at.of(versions)).as_deref() == Some(MODERN))
}

/// Who is asked, and what for.
#[derive(Clone, Copy)]
struct Prober<'a> {
    connection: &'a Connection,
    capabilities: &'a [u8],
    instance: &'a Instance,
}

/// Opens the conversation.
pub(in crate::upstream) async fn open(
    connection: &Connection,
    opening: Opening<'_>,
    capabilities: &[u8],
    instance: &Instance,
) -> Result<ServerHello, HandshakeError> {
    let prober = Prober { connection, capabilities, instance };
    match opening {
        Opening::Initialize => prober.initialize().await,
        Opening::Discover => {
            let discovered = timeout(PROBE_REMOTE, prober.discover()).await;
            discovered.unwrap_or(Err(HandshakeError::OtherEra))
        }
        Opening::Insist => prober.discover().await,
        Opening::Find(known) => {
            let opened = match known.get() {
                Knowledge::Found(Era::Legacy) => prober.initialize_again().await,
                Knowledge::Found(Era::Modern) => prober.find(|_| {}).await,
                Knowledge::Nothing | Knowledge::Asked | Knowledge::Refused => {
                    known.set(Knowledge::Asked);
                    prober.find(|knowledge| known.set(knowledge)).await
                }
            };
            match &opened {
                Ok(hello) => known.set(Knowledge::Found(hello.era)),
                Err(HandshakeError::Silent(_)) => {} // it has ended: that is judged elsewhere
                Err(_) => known.set(Knowledge::Nothing),
            }
            opened
        }
    }
}

impl Prober<'_> {
    async fn initialize(self) -> Result<ServerHello, HandshakeError> {
        initialize(self.connection, self.capabilities, self.instance).await
    }

    /// As it was opened before. If it does not want that any more, it is asked.
    async fn initialize_again(self) -> Result<ServerHello, HandshakeError> {
        let refused = match self.initialize().await {
            Err(error @ HandshakeError::Refused { .. }) => error,
            opened => return opened,
        };
        let discovered = timeout(PROBE, self.discover()).await;
        discovered.ok().and_then(Result::ok).ok_or(refused)
    }

    /// Asks for the era and nothing else.
    async fn discover(self) -> Result<ServerHello, HandshakeError> {
        let answer = self.begin()?.1.await;
        match answer.map_err(|_| HandshakeError::Silent(DISCOVER))? {
            Ok(answer) if verdict(&answer) != Verdict::Legacy => self.modern(&answer).await,
            _ => Err(HandshakeError::OtherEra),
        }
    }

    /// Asks for the era, and opens the conversation in it. `learn` hears what the answer says about
    /// the server.
    async fn find(self, learn: impl FnOnce(Knowledge)) -> Result<ServerHello, HandshakeError> {
        let (id, mut answer) = self.begin()?;
        let in_time = tokio::select! {
            biased;
            in_time = timeout(PROBE, &mut answer) => in_time.ok(),
            // It may be its answer: the other way is tried at once, and a better one still counts.
            () = self.connection.broken.unowned.notified() => None,
        };
        let Some(answer) = in_time else { return self.find_slowly(id, answer).await };
        match answer.map_err(|_| HandshakeError::Silent(DISCOVER))? {
            Ok(answer) if verdict(&answer) != Verdict::Legacy => {
                learn(Knowledge::Nothing);
                self.modern(&answer).await
            }
            _ => {
                learn(Knowledge::Refused);
                self.initialize().await
            }
        }
    }

    /// There is no answer yet: it may never come, or the server may only be slow to start. It is
    /// opened in the older way as well. One that stays with the first message it has read refuses
    /// that, and has answered the question, or will.
    async fn find_slowly(
        self,
        id: UpstreamId,
        mut late: Answer,
    ) -> Result<ServerHello, HandshakeError> {
        let initialized = self.initialize();
        tokio::pin!(initialized);
        let answer = tokio::select! {
            biased;
            answer = &mut late => answer,
            opened = &mut initialized => {
                let Err(HandshakeError::Refused { .. }) = &opened else {
                    self.connection.link.pending.lock().remove(id);
                    return opened;
                };
                return match timeout(PROBE, late).await {
                    Ok(Ok(Ok(answer))) if verdict(&answer) != Verdict::Legacy => {
                        self.modern(&answer).await
                    }
                    _ => opened,
                };
            }
        };
        match answer.map_err(|_| HandshakeError::Silent(DISCOVER))? {
            Ok(answer) if verdict(&answer) != Verdict::Legacy => {
                match timeout(PROBE, initialized).await {
                    Ok(Ok(hello)) => Ok(hello), // it has been opened so, and takes it
                    _ => self.modern(&answer).await,
                }
            }
            _ => initialized.await,
        }
    }

    /// The server is of the stateless era: reads what it says about itself.
    async fn modern(self, answer: &[u8]) -> Result<ServerHello, HandshakeError> {
        if verdict(answer) == Verdict::Modern {
            return self.greet(answer);
        }
        let again = self.begin()?.1.await.map_err(|_| HandshakeError::Silent(DISCOVER))?;
        let again = again.map_err(|why| HandshakeError::Unusable(DISCOVER, why))?;
        match verdict(&again) {
            Verdict::Modern => self.greet(&again),
            _ => Err(HandshakeError::Refused { method: DISCOVER, error: words(&again) }),
        }
    }

    fn greet(self, answer: &[u8]) -> Result<ServerHello, HandshakeError> {
        let message = scan(answer);
        let message =
            message.map_err(|fault| HandshakeError::Senseless(DISCOVER, fault.to_string()))?;
        let result = message.text(message.result);
        let instances = instance::read(result);
        if self.instance.is_among(&instances) {
            return Err(HandshakeError::Loop);
        }
        // Before anything else is sent.
        self.connection.link.set_era(Era::Modern);
        let info = member(result, "_meta")
            .and_then(|meta| member(meta, "io.modelcontextprotocol/serverInfo"));
        let info = info.unwrap_or_default();
        Ok(ServerHello::read(MODERN.to_owned(), Era::Modern, info, result, instances))
    }

    fn begin(self) -> Result<(UpstreamId, Answer), HandshakeError> {
        let names = self.instance.with(std::iter::empty());
        let instances = [b"\"", instance::KEY.as_bytes(), b"\":", &names].concat();
        let params = own_stamp(self.capabilities).and(&instances).on(b"");
        self.connection.link.begin(DISCOVER, &params).ok_or(HandshakeError::Silent(DISCOVER))
    }
}

/// What a refusal says.
fn words(answer: &[u8]) -> String {
    scan(answer).map(|message| refusal_text(message.text(message.error))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trunkline_catalog::ListKind;

    use super::*;
    use crate::call::Payload;
    use crate::deadlines::Deadlines;
    use crate::limits::Limits;
    use crate::pump::{FlushSet, Outbox};
    use crate::upstream::Parking;
    use crate::upstream::connection::ConnectionParts;
    use crate::upstream::connection::broken::BrokenLines;

    fn result(result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
    }

    fn error(code: i64, rest: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no"{rest}}}}}"#)
    }

    #[test]
    fn what_an_answer_says_about_the_era() {
        let supported = |versions: &str| format!(r#","data":{{"supported":{versions}}}"#);
        for (answer, expected) in [
            (result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#), Verdict::Modern),
            (
                result(r#"{"supportedVersions":["2025-11-25","2026-07-28","2027-01-01"]}"#),
                Verdict::Modern,
            ),
            (result(r#"{"supportedVersions":["2025-11-25"]}"#), Verdict::Legacy),
            (result(r#"{"supportedVersions":[]}"#), Verdict::Legacy),
            (result(r#"{"supportedVersions":"2026-07-28"}"#), Verdict::Legacy),
            (result("{}"), Verdict::Legacy),
            (error(-32601, ""), Verdict::Legacy),
            (error(-32602, ""), Verdict::Legacy),
            (error(-32600, ""), Verdict::Legacy),
            (error(-32000, ""), Verdict::Legacy),
            (error(0, ""), Verdict::Legacy),
            (error(-32022, &supported(r#"["2026-07-28"]"#)), Verdict::Again),
            (error(-32022, ""), Verdict::Again),
            (error(-32022, r#","data":{}"#), Verdict::Again),
            (error(-32022, &supported(r#"["2025-11-25"]"#)), Verdict::Legacy),
            (error(-32022, &supported("[]")), Verdict::Legacy),
            (error(-32021, ""), Verdict::Again),
            (error(-32020, ""), Verdict::Again),
            ("hello".to_owned(), Verdict::Legacy),
        ] {
            assert_eq!(verdict(answer.as_bytes()), expected, "{answer}");
        }
    }

    #[test]
    fn what_is_known_lasts() {
        let known = EraMemory::default();
        assert!(!known.ended(), "it was not asked");
        known.set(Knowledge::Asked);
        assert_eq!(known.passed_on().get(), Knowledge::Nothing);
        assert!(known.ended(), "it ended on the question");
        assert_eq!(known.get(), Knowledge::Found(Era::Legacy));
        assert!(!known.ended(), "and now on something else");
        known.set(Knowledge::Refused);
        assert_eq!(known.passed_on().get(), Knowledge::Nothing);
        assert!(known.ended(), "it refused the question, and ended");
        assert_eq!(known.passed_on().get(), Knowledge::Found(Era::Legacy));
    }

    fn connection() -> Arc<Connection> {
        Arc::new(Connection::new(ConnectionParts {
            key: crate::identity::Identity::new("s", "s"),
            limits: Limits::default(),
            transport: Arc::new(Outbox::default()),
            broken: BrokenLines::new(Arc::default()),
            audience: Arc::default(),
            simple: false,
            deadlines: Arc::new(Deadlines::new(None)),
            parking: Arc::new(Parking::new()),
            options: crate::upstream::connection::ConnectionOptions::default(),
        }))
    }

    /// A server that answers its requests in this order: `0` is the first it gets. `None`: nothing
    /// more is said until the next request has come.
    async fn serve(connection: &Arc<Connection>, script: &[(usize, &str)]) {
        let mut seen: Vec<UpstreamId> = Vec::new();
        for (which, answer) in script {
            while seen.len() <= *which {
                tokio::task::yield_now().await;
                let pending = connection.link.pending.lock();
                let mut new: Vec<_> =
                    pending.iter().map(|(id, _)| id).filter(|id| !seen.contains(id)).collect();
                new.sort_unstable();
                seen.extend(new);
            }
            let answer = answer.replace("\"id\":1", &format!("\"id\":{}", seen[*which]));
            let mut touched = FlushSet::default();
            connection.receive(Payload::Borrowed(answer.as_bytes()), None, &mut touched);
        }
        std::future::pending::<()>().await;
    }

    async fn opened(
        slow: bool,
        script: &[(usize, &str)],
    ) -> (Result<(Era, String), HandshakeError>, Arc<Connection>) {
        let connection = connection();
        let instance = Instance::new();
        let prober = Prober { connection: &connection, capabilities: b"{}", instance: &instance };
        let opens = async {
            if !slow {
                return prober.find(|_| {}).await;
            }
            let (id, answer) = prober.begin().unwrap();
            prober.find_slowly(id, answer).await
        };
        let opened = tokio::select! {
            opened = opens => opened,
            () = serve(&connection, script) => unreachable!(),
            () = tokio::time::sleep(std::time::Duration::from_secs(20)) => panic!("not opened"),
        };
        (opened.map(|hello| (hello.era, hello.protocol)), connection)
    }

    #[tokio::test]
    async fn a_server_is_opened_in_its_own_way() {
        let modern = result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#);
        let unknown = error(-32601, "");
        let picky = error(-32022, "");
        let old = result(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#);
        let is_modern = Ok((Era::Modern, "2026-07-28".to_owned()));
        let is_legacy = Ok((Era::Legacy, "2025-11-25".to_owned()));
        let refused =
            |method| Err(HandshakeError::Refused { method, error: "no (code -32022)".to_owned() });
        let table: [(bool, &[(usize, &str)], _); 10] = [
            (false, &[(0, &modern)], is_modern.clone()),
            (false, &[(0, &unknown), (1, &old)], is_legacy.clone()),
            (false, &[(0, &picky), (1, &modern)], is_modern.clone()),
            (false, &[(0, &picky), (1, &picky)], refused(DISCOVER)),
            (false, &[(0, &unknown), (1, &picky)], refused("initialize")),
            // Slow ones have been asked in both ways.
            (true, &[(1, &old)], is_legacy.clone()),
            (true, &[(1, &picky), (0, &modern)], is_modern.clone()),
            (true, &[(0, &modern), (1, &picky)], is_modern),
            (true, &[(0, &modern), (1, &old)], is_legacy.clone()),
            (true, &[(0, &unknown), (1, &old)], is_legacy),
        ];
        for (slow, script, expected) in table {
            let (opened, connection) = opened(slow, script).await;
            assert_eq!(opened, expected, "{script:?}");
            let era = opened.map_or(Era::Legacy, |(era, _)| era);
            assert_eq!(connection.link.era(), era, "{script:?}");
            assert_eq!(connection.link.pending.lock().len(), 0, "{script:?}");
        }
    }

    /// Both ways are tried then, and the time for those that say nothing is not waited out.
    #[tokio::test]
    async fn an_error_without_an_id_may_be_the_answer() {
        let nobodys = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#;
        let old = result(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#);
        let modern = result(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#);
        let picky = error(-32022, "");
        let table: [(&[(usize, &str)], Era); 2] = [
            (&[(0, nobodys), (1, &old)], Era::Legacy),
            (&[(0, nobodys), (1, &picky), (0, &modern)], Era::Modern),
        ];
        for (script, expected) in table {
            let begun = std::time::Instant::now();
            let (opened, _) = opened(false, script).await;
            assert_eq!(opened.map(|(era, _)| era), Ok(expected), "{script:?}");
            assert!(begun.elapsed() < PROBE, "{:?}", begun.elapsed());
        }
    }

    #[tokio::test]
    async fn a_circle_is_noticed() {
        let connection = connection();
        let instance = Instance::new();
        let names = String::from_utf8(instance.with(std::iter::empty())).unwrap();
        let answer = result(&format!(
            r#"{{"supportedVersions":["2026-07-28"],"_meta":{{"trunkline/instances":{names}}}}}"#
        ));
        let prober = Prober { connection: &connection, capabilities: b"{}", instance: &instance };
        assert_eq!(prober.greet(answer.as_bytes()).unwrap_err(), HandshakeError::Loop);
    }

    #[test]
    fn what_a_modern_server_says_about_itself() {
        let connection = connection();
        let instance = Instance::new();
        let answer = result(
            r#"{"supportedVersions":["2026-07-28"],"instructions":"hi","capabilities":{"logging":{},"resources":{"subscribe":true,"listChanged":true},"extensions":{"x/y":{}}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1","title":"T"}}}"#,
        );
        let prober = Prober { connection: &connection, capabilities: b"{}", instance: &instance };
        let hello = prober.greet(answer.as_bytes()).unwrap();
        assert_eq!(hello.identity.as_deref(), Some("n 1"));
        assert_eq!(hello.title.as_deref(), Some("T"));
        assert_eq!(hello.instructions.as_deref(), Some("hi"));
        assert_eq!(hello.extensions.as_deref(), Some(&br#"{"x/y":{}}"#[..]));
        assert!(hello.logs && hello.subscribes);
        assert!(hello.tells_of(ListKind::Templates) && !hello.tells_of(ListKind::Tools));
        assert!(hello.lists(ListKind::Resources) && !hello.lists(ListKind::Prompts));
    }
}
