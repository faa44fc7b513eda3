//! `Stateless`: what a request of the stateless era says about its client, and what was refused in its name.

use std::cell::RefCell;
use std::sync::Arc;

use trunkline_wire::{MODERN, Message, decode};

use crate::call::question::Abilities;
use crate::call::{Ability, Level};
use crate::error::{CallError, METHOD_NOT_FOUND, Missing};
use crate::gate::{ANYONE, ONLY_CLIENT};

/// What a request that stands for itself says about its client. Requests that say the same share it.
#[derive(Debug)]
pub(crate) struct Stateless {
    abilities: Abilities,
    /// From which level on it wants to hear what servers log; `None`: not at all.
    pub(crate) level: Option<Level>,
    /// The caller, as far as it is known: a state that was sealed for one caller opens for no other.
    pub(crate) principal: Arc<[u8]>,
    /// Its result may be kept for a while: it says for how long.
    pub(crate) cacheable: bool,
    /// Every server knows its method: that it is not found is about something else.
    pub(crate) is_common: bool,
}

/// What the last call of a tool said, by the number of its `_meta`.
type Said = Option<(u64, Arc<Stateless>)>;

thread_local! {
    // Per thread and one entry: a client writes the same `_meta` into every request, and a busy one
    // sends many in a row.
    static LAST: RefCell<Said> = const { RefCell::new(None) };
}

impl Stateless {
    /// What `_meta` has to say. Nearly all requests are calls that say what the one before said.
    pub(crate) fn read(
        message: &Message<'_>,
        principal: &Arc<[u8]>,
    ) -> Result<Arc<Self>, CallError> {
        let number = message.params.meta.number;
        let may_repeat = number > 0 && *message.method() == *b"tools/call";
        if !may_repeat {
            return Self::read_afresh(message, principal).map(Arc::new);
        }
        LAST.with_borrow_mut(|last| match last {
            // The number stands for the bytes; who asks is not in them, and must be the same, too.
            Some((known, how)) if *known == number && Arc::ptr_eq(&how.principal, principal) => {
                Ok(Arc::clone(how))
            }
            _ => {
                let how = Arc::new(Self::read_afresh(message, principal)?);
                *last = Some((number, Arc::clone(&how)));
                Ok(how)
            }
        })
    }

    /// The version is checked last: a request that is malformed in any revision is answered with
    /// "invalid params", not with "unsupported version".
    fn read_afresh(message: &Message<'_>, principal: &Arc<[u8]>) -> Result<Self, CallError> {
        let params = &message.params;
        let token = message.text(params.meta.version);
        // 2026-07-28, Overview, General fields: version and capabilities are required in every
        // request.
        if !token.starts_with(b"\"") {
            return Err(CallError::MissingMeta("protocolVersion"));
        }
        let capabilities = message.text(params.meta.capabilities);
        if !capabilities.starts_with(b"{") {
            return Err(CallError::MissingMeta("clientCapabilities"));
        }
        if !is_modern(token) {
            let requested = decode(token).unwrap_or_default().into_owned();
            return Err(CallError::UnsupportedVersion { requested });
        }
        let level = match params.meta.level {
            None => None,
            Some(span) => {
                let level = decode(span.of(message.bytes)).and_then(|level| Level::known(&level));
                Some(level.ok_or_else(|| {
                    let why = "`io.modelcontextprotocol/logLevel` is none of debug, info, notice, \
                               warning, error, critical, alert and emergency";
                    CallError::InvalidParams(why.to_owned())
                })?)
            }
        };
        let method = message.method();
        Ok(Self {
            abilities: Abilities::read(capabilities),
            level,
            principal: Arc::clone(principal),
            cacheable: *method == *b"resources/read",
            is_common: matches!(
                &*method,
                b"tools/call" | b"resources/read" | b"prompts/get" | b"completion/complete"
            ),
        })
    }

    pub(crate) fn can(&self, ability: Ability) -> bool {
        self.abilities.has(ability)
    }

    /// Is it of the only client there can be (stdio, local)?
    pub(crate) fn is_of_the_only_client(&self) -> bool {
        *self.principal == *ONLY_CLIENT
    }

    /// Is nothing known of who made it?
    pub(crate) fn is_anyones(&self) -> bool {
        *self.principal == *ANYONE
    }

    /// Can it be asked anything at all?
    pub(crate) fn can_be_asked(&self) -> bool {
        Ability::ALL.into_iter().any(|ability| self.can(ability))
    }

    pub(crate) fn hears(&self, level: Option<Level>) -> bool {
        match (self.level, level) {
            (Some(least), Some(level)) => level >= least,
            (Some(_), None) => true,
            // 2026-07-28, Logging: without a level in its `_meta` a request gets no log messages.
            (None, _) => false,
        }
    }

    /// What an error's code says about the request as such: a tool may well be "not found" by a
    /// method that is.
    pub(crate) fn status_code(&self, code: Option<i64>) -> Option<i64> {
        code.map(
            |code| if code == i64::from(METHOD_NOT_FOUND) && self.is_common { 0 } else { code },
        )
    }
}

/// What a server asked for during a call and could not have, because its client cannot do it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refused(u8);

impl Refused {
    pub(crate) fn add(&mut self, ability: Ability) {
        self.0 |= 1 << ability as u8;
    }

    /// What the client would have had to be able to do.
    pub(crate) fn missing(self) -> Vec<Missing> {
        let missing = Ability::ALL.into_iter().filter(|ability| self.0 & 1 << *ability as u8 != 0);
        missing.map(Ability::declaration).collect()
    }
}

/// Is this the revision that is spoken, however it is spelt?
fn is_modern(token: &[u8]) -> bool {
    let plain = token.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    plain == Some(MODERN.as_bytes()) || decode(token).is_some_and(|version| version == MODERN)
}

#[cfg(test)]
mod tests {
    use trunkline_wire::scan;

    use super::*;

    const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{"sampling":{}}"#;

    #[test]
    fn calls_that_say_the_same_share_it_and_no_others() {
        let (me, you): (Arc<[u8]>, Arc<[u8]>) = (Arc::from(*b"me"), Arc::from(*b"you"));
        let read = |meta: &str, who| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{{{meta}}}}}}}"#
            );
            Stateless::read(&scan(text.as_bytes()).unwrap(), who).unwrap()
        };
        let able = format!("{VERSION},{CAPABILITIES}");
        let unable = able.replace("sampling", "x");
        let first = read(&able, &me);
        assert!(Arc::ptr_eq(&first, &read(&able, &me)));
        let yours = read(&able, &you);
        assert_eq!(&*yours.principal, b"you");
        assert_eq!(&*read(&able, &me).principal, b"me");
        assert!(!read(&unable, &me).can(Ability::Sampling));
        assert!(read(&able, &me).can(Ability::Sampling));
    }

    fn read(meta: &str) -> Result<Arc<Stateless>, CallError> {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"_meta":{{{meta}}}}}}}"#
        );
        Stateless::read(&scan(text.as_bytes()).unwrap(), &Arc::from(*b"me"))
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let level = r#""io.modelcontextprotocol/logLevel":"loud""#;
        let old = VERSION.replace("2026-07-28", "2025-11-25");
        for (meta, expected) in [
            (String::new(), -32602),
            (CAPABILITIES.to_owned(), -32602),
            (VERSION.to_owned(), -32602),
            (format!("{old},{CAPABILITIES}"), -32022),
            (old, -32602),
            (format!("{VERSION},{CAPABILITIES},{level}"), -32602),
        ] {
            assert_eq!(read(&meta).unwrap_err().code(), expected, "{meta}");
        }
    }

    #[test]
    fn a_request_stands_for_itself() {
        let level = r#""io.modelcontextprotocol/logLevel":"warning""#;
        let request = read(&format!("{VERSION},{CAPABILITIES},{level}")).unwrap();
        assert!(request.can(Ability::Sampling) && !request.can(Ability::Roots));
        assert!(request.cacheable && request.can_be_asked());
        assert!(request.hears(Level::known("error")) && !request.hears(Level::known("info")));
        let mut refused = Refused::default();
        refused.add(Ability::Roots);
        refused.add(Ability::Elicitation);
        assert_eq!(refused.missing(), [("elicitation", Some("form")), ("roots", None)]);
        let silent = read(&format!("{VERSION},{CAPABILITIES}")).unwrap();
        assert!(!silent.hears(Level::known("emergency")) && !silent.hears(None));
    }
}
