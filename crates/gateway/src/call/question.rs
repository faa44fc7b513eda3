//! What servers ask clients: under our own ids, and only what the client says it can do.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use trunkline_wire::{Edits, Id, Message, Span, decode, member, upstream_id, write_error};

use crate::call::{CallOwner, Client, ResponseSink};
use crate::error::CLIENT_GONE;
use crate::limits::OPEN_QUESTIONS;
use crate::pump::FlushSet;

/// Something a client has to declare before it is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    Sampling,
    /// Filling in a form.
    Elicitation,
    /// Going to a URL.
    Urls,
    Roots,
}

impl Ability {
    pub(crate) const ALL: [Self; 4] = [Self::Sampling, Self::Elicitation, Self::Urls, Self::Roots];

    /// What a request needs. Other requests are the client's own to refuse.
    pub(crate) fn needed_for(method: &[u8], params: &[u8]) -> Option<Self> {
        match method {
            b"sampling/createMessage" => Some(Self::Sampling),
            b"elicitation/create" => {
                let mode = member(params, "mode").and_then(decode);
                Some(if mode.as_deref() == Some("url") { Self::Urls } else { Self::Elicitation })
            }
            b"roots/list" => Some(Self::Roots),
            _ => None,
        }
    }

    /// How a client declares it: a member of its capabilities, and what has to stand in that.
    pub(crate) fn declaration(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Elicitation => (self.word(), Some("form")),
            Self::Urls => (self.word(), Some("url")),
            Self::Sampling | Self::Roots => (self.word(), None),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sampling => "sampling",
            Self::Elicitation | Self::Urls => "elicitation",
            Self::Roots => "roots",
        }
    }
}

/// What a client has declared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Abilities {
    sampling: bool,
    elicitation: bool,
    /// It can be sent to a URL.
    urls: bool,
    roots: bool,
}

impl Abilities {
    /// What an object of capabilities says.
    pub(super) fn read(capabilities: &[u8]) -> Self {
        if capabilities == b"{}" {
            return Self::default(); // as most requests that stand for themselves say
        }
        let has = |ability: Ability| {
            member(capabilities, ability.word()).is_some_and(|value| value.starts_with(b"{"))
        };
        let modes = member(capabilities, Ability::Elicitation.word()).unwrap_or_default();
        let mode = |name| member(modes, name).is_some_and(|value| value.starts_with(b"{"));
        Self {
            sampling: has(Ability::Sampling),
            // 2025-11-25, Elicitation, Capabilities: a client that names no mode supports forms.
            elicitation: has(Ability::Elicitation) && (mode("form") || !mode("url")),
            urls: mode("url"),
            roots: has(Ability::Roots),
        }
    }

    pub(super) fn has(self, ability: Ability) -> bool {
        match ability {
            Ability::Sampling => self.sampling,
            Ability::Elicitation => self.elicitation,
            Ability::Urls => self.urls,
            Ability::Roots => self.roots,
        }
    }
}

/// How grave a message of a server's log is, as the protocol orders it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(u8);

const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Level {
    pub(crate) fn known(name: &str) -> Option<Self> {
        let place = LEVELS.iter().position(|level| *level == name)?;
        u8::try_from(place).ok().map(Self)
    }

    pub(crate) fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn name(self) -> &'static str {
        LEVELS.get(usize::from(self.0)).copied().unwrap_or("debug")
    }
}

/// What a client has been asked and has not answered.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: HashMap<u32, OpenQuestion>,
    last: u32,
}

#[derive(Debug)]
struct OpenQuestion {
    from: Weak<dyn CallOwner>,
    /// The server's own id and progress token, as spelt.
    id: Box<[u8]>,
    token: Option<Box<[u8]>>,
}

/// Our ids for questions: apart from what clients count themselves.
const FIRST: u32 = 1_000_000_000;

impl Client {
    /// Numbers questions behind this one: the client may still answer those of a gateway before us.
    pub(crate) fn number_questions_after(&self, last: u32) {
        let mut questions = self.questions.lock();
        questions.last = questions.last.max(last);
    }

    /// Takes over what the client says about itself in `initialize`.
    pub(crate) fn declares(&self, capabilities: &[u8]) {
        *self.abilities.lock() = Abilities::read(capabilities);
    }

    pub(crate) fn can(&self, ability: Ability) -> bool {
        self.abilities.lock().has(ability)
    }

    /// Asks the client what a server wants to know. False if it cannot be asked.
    pub(crate) fn ask(
        &self,
        message: &Message<'_>,
        from: &Arc<dyn CallOwner>,
        sink: &ResponseSink,
        touched: &mut FlushSet,
    ) -> bool {
        let token = message.params.meta.progress_token;
        let question = OpenQuestion {
            from: Arc::downgrade(from),
            id: message.id().into(),
            token: token.map(|span| span.of(message.bytes).into()),
        };
        // Recorded before it is sent: the answer may come while `say` still runs on another thread.
        let Some(id) = self.questions.lock().add(question) else { return false };
        let asked = number(id, |digits| {
            let mut edits = Edits::new();
            for span in [message.id, token].into_iter().flatten() {
                edits.add(span, digits);
            }
            sink.say(message.bytes, &edits, touched)
        });
        if !asked {
            self.questions.lock().open.remove(&id);
        }
        asked
    }

    /// The client has answered something. False if it was not asked that.
    pub(crate) fn answered(&self, message: &Message<'_>, touched: &mut FlushSet) -> bool {
        let question =
            upstream_id(message.id()).and_then(|id| self.questions.lock().open.remove(&id));
        let (Some(question), Some(id_at)) = (question, message.id) else { return false };
        if let Some(from) = question.from.upgrade() {
            from.pass(message.bytes, &Edits::one(id_at, &question.id), touched);
        }
        true
    }

    /// The client tells how far it is with something a server has asked of it.
    pub(crate) fn progresses(&self, message: &Message<'_>, touched: &mut FlushSet) {
        let Some(span) = message.params.progress_token else { return };
        let Some(id) = upstream_id(span.of(message.bytes)) else { return };
        // Not under the lock: the server's own is taken to pass it on.
        let asked = match self.questions.lock().open.get(&id) {
            Some(OpenQuestion { from, token: Some(token), .. }) => (from.upgrade(), token.clone()),
            _ => return,
        };
        if let (Some(from), token) = asked {
            from.pass(message.bytes, &Edits::one(span, &token), touched);
        }
    }

    /// A server takes one of its questions back.
    pub(crate) fn unask(
        &self,
        message: &Message<'_>,
        id_at: Span,
        from: &Arc<dyn CallOwner>,
        touched: &mut FlushSet,
    ) {
        let theirs = Arc::downgrade(from);
        let token = id_at.of(message.bytes);
        // Not held while the client is told: writing takes the locks of its stream.
        let found = self.questions.lock().of(&theirs, Some(token)).first().copied();
        if let Some(id) = found {
            self.questions.lock().open.remove(&id);
            number(id, |digits| {
                self.say(message.bytes, &Edits::one(id_at, digits), touched);
            });
        }
    }

    /// Has it been asked something by this server that it has not answered?
    pub(crate) fn has_question_of(&self, from: &Arc<dyn CallOwner>) -> bool {
        !self.questions.lock().of(&Arc::downgrade(from), None).is_empty()
    }

    /// A server has gone, or its call: what it asked is of no use any more. `reason`: plain words.
    pub(crate) fn forget_questions_of(
        &self,
        from: &Arc<dyn CallOwner>,
        reason: &str,
        touched: &mut FlushSet,
    ) {
        let theirs = self.questions.lock().of(&Arc::downgrade(from), None);
        for id in theirs {
            // Each is taken out on its own: the client may answer some of them meanwhile.
            if self.questions.lock().open.remove(&id).is_some() {
                let message = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\
                     {{\"requestId\":{id},\"reason\":\"{reason}\"}}}}"
                );
                self.say(message.as_bytes(), &Edits::new(), touched);
            }
        }
    }

    /// The client has gone: servers that wait for an answer of it get an error.
    pub(crate) fn leave_questions(&self, touched: &mut FlushSet) {
        // Taken out first: `pass` takes the server's locks, which rank above this one.
        let open = std::mem::take(&mut self.questions.lock().open);
        for question in open.into_values() {
            if let Some(from) = question.from.upgrade() {
                let mut out = Vec::new();
                write_error(&question.id, CLIENT_GONE, "the client has gone", b"", &mut out);
                from.pass(&out, &Edits::new(), touched);
            }
        }
    }
}

impl Questions {
    fn add(&mut self, question: OpenQuestion) -> Option<u32> {
        // A client that answers nothing must not collect questions without end; the server is told
        // that it cannot be asked.
        if self.open.len() >= OPEN_QUESTIONS {
            return None;
        }
        self.last = if (FIRST..FIRST * 2).contains(&self.last) { self.last + 1 } else { FIRST };
        self.open.insert(self.last, question);
        Some(self.last)
    }

    /// Our ids of what this server asked (under this id of its own).
    fn of(&self, from: &Weak<dyn CallOwner>, id: Option<&[u8]>) -> Vec<u32> {
        let theirs = |question: &OpenQuestion| {
            question.from.ptr_eq(from) && id.is_none_or(|id| *question.id == *id)
        };
        self.open.iter().filter(|(_, question)| theirs(question)).map(|(id, _)| *id).collect()
    }
}

fn number<T>(id: u32, use_it: impl FnOnce(&[u8]) -> T) -> T {
    Id::Number(i64::from(id)).with_token(use_it)
}
