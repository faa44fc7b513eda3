//! `Gate`: who may use the gateway, and `Grant`: how much of it. Both are decided elsewhere; here is
//! what the data plane asks, and what it is told.

use std::fmt::{self, Debug};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use crate::certificate::ClientCertificate;
use crate::limiter::{Allowance, CallerAccount, Limiter};
use crate::policy::PolicyGrant;

/// Decides who may speak MCP here. Asked on the thread that moves bytes, so that nothing in it may
/// wait: what takes time is a `Later`.
pub trait Gate: Debug + Send + Sync {
    /// Who is it that asks? The answer holds for the same words until `version` changes or the pass
    /// expires. May be asked again for the same request before its body has come.
    fn admit(&self, asking: &Asking<'_>) -> Admission;

    /// Changes whenever a decision could come out differently: a key was revoked or given other
    /// rights. Read with every request.
    fn version(&self) -> u64;

    /// Is this pass still valid? Asked for everything that is open when `version` has changed.
    fn holds(&self, pass: &Pass) -> bool;

    /// Why nobody should be sent here, although everything runs: a word for `/readyz`.
    fn trouble(&self) -> Option<&'static str> {
        None
    }
}

/// What a request shows at the gate.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The `Authorization` header, if there is exactly one.
    pub authorization: Option<&'a [u8]>,
    /// The certificate of the connection; its chain was verified.
    pub certificate: Option<&'a Arc<ClientCertificate>>,
    pub path: &'a str,
    pub peer: SocketAddr,
}

/// Without what is shown: that is a secret.
impl Debug for Asking<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Asking")
            .field("authorization", &self.authorization.map(|_| "…"))
            .field("certificate", &self.certificate)
            .field("path", &self.path)
            .field("peer", &self.peer)
            .finish()
    }
}

pub type Decision = Result<Arc<Pass>, Denied>;

/// What comes of asking.
pub enum Admission {
    Now(Decision),
    /// Something has to be fetched first. Awaited on the runtime, once the whole request is there;
    /// dropped without having been polled if the request is not to be had.
    Later(Pin<Box<dyn Future<Output = Decision> + Send>>),
}

impl Debug for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(decision) => formatter.debug_tuple("Now").field(decision).finish(),
            Self::Later(_) => formatter.write_str("Later"),
        }
    }
}

/// `Pass::who` of those of whom nothing is known: it does not make two requests the same person's.
pub const ANYONE: &[u8] = b"anyone";

/// `Pass::who` of the one client over standard input and output.
pub(crate) const ONLY_CLIENT: &[u8] = b"stdio";

/// Somebody who may come in.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Equal for two requests of one caller: what is sealed for one is nobody else's, and a session belongs
    /// to it.
    pub who: Arc<[u8]>,
    /// For logs and for whoever looks at them.
    pub label: Arc<str>,
    /// `None`: everything may be seen and called.
    pub grant: Option<Arc<dyn Grant>>,
    /// From then on it is worth nothing, whatever the version says.
    pub expires: Option<SystemTime>,
    /// What it may have at most; `None`: nothing is limited.
    pub allowance: Option<Allowance>,
}

impl Pass {
    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Is it the same caller, with the same rights?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let grant = |pass: &Self| pass.grant.as_ref().map(|grant| grant.id());
        self.who == other.who && grant(self) == grant(other)
    }
}

impl Limiter {
    /// The account of whoever has this pass; `None`: nothing is limited for it.
    pub(crate) fn account_of(&self, pass: &Pass) -> Option<Arc<CallerAccount>> {
        pass.allowance.as_ref().map(|allowed| self.caller(&pass.who, allowed))
    }
}

/// Why somebody may not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// 401, 403, 429 or 503.
    pub status: u16,
    /// The value of `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u64>,
    pub message: String,
}

/// What a restricted caller may see and call. Everything else is not there for it: what is forbidden
/// and what does not exist is answered in the same words.
pub trait Grant: Debug + Send + Sync {
    /// This tool, by its server's key and by the name the server itself has for it?
    fn allows(&self, server: &str, tool: &str) -> bool;

    /// All of this server: every tool of it, now and later, and what only makes sense as a whole:
    /// its resources, prompts, completions, and methods Trunkline does not know.
    fn all_of(&self, server: &str) -> bool;

    /// Equal numbers mean equal rights; one that was used is not used for others.
    fn id(&self) -> u64;

    /// What policies say besides; `allows` and `all_of` know it already. `None`: there are none.
    fn policies(&self) -> Option<&dyn PolicyGrant> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Debug)]
    struct Numbered(u64);

    impl Grant for Numbered {
        fn allows(&self, _: &str, _: &str) -> bool {
            false
        }
        fn all_of(&self, _: &str) -> bool {
            false
        }
        fn id(&self) -> u64 {
            self.0
        }
    }

    fn pass(who: &str, grant: Option<u64>) -> Pass {
        Pass {
            who: who.as_bytes().into(),
            label: "somebody".into(),
            grant: grant.map(|id| Arc::new(Numbered(id)) as _),
            expires: None,
            allowance: None,
        }
    }

    #[test]
    fn a_caller_with_other_rights_is_another() {
        for (one, other, expected) in [
            (pass("a", None), pass("a", None), true),
            (pass("a", Some(1)), pass("a", Some(1)), true),
            (pass("a", None), pass("b", None), false),
            (pass("a", Some(1)), pass("a", Some(2)), false),
            (pass("a", None), pass("a", Some(1)), false),
        ] {
            assert_eq!(one.is_same(&other), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_pass_ends_at_its_time() {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let limited = Pass { expires: Some(end), ..pass("a", None) };
        assert!(!limited.is_expired(end - Duration::from_secs(1)));
        assert!(limited.is_expired(end));
        assert!(!pass("a", None).is_expired(end));
    }

    #[test]
    fn what_is_shown_at_the_gate_is_not_written_down() {
        let peer = ([127, 0, 0, 1], 1).into();
        let asking =
            Asking { authorization: Some(b"Bearer s3cret"), certificate: None, path: "/mcp", peer };
        assert!(!format!("{asking:?}").contains("s3cret"));
    }
}
