//! One decision with one explanation: role, then patterns, then policies.

use std::sync::Arc;

use trunkline_policy::{
    Action, Circumstances, Policies, PolicyCaller, RefusalCause, RequestTarget,
};

use crate::access::{Grants, Role};

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub caller: &'a PolicyCaller,
    /// The patterns of its key.
    pub grants: &'a Grants,
    pub action: Action,
    pub target: RequestTarget<'a>,
    pub circumstances: Circumstances<'a>,
}

/// What decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionStep {
    /// The key is revoked or has expired.
    Key,
    Role,
    Patterns,
    /// There are none.
    NoPolicies,
    /// Whether it is listed: what is not does not exist for the caller.
    List,
    Policies,
}

impl DecisionStep {
    /// What `name` can say.
    pub const NAMES: [&str; 6] = ["key", "role", "patterns", "no-policies", "list", "policies"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Role => "role",
            Self::Patterns => "patterns",
            Self::NoPolicies => "no-policies",
            Self::List => "list",
            Self::Policies => "policies",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub is_allowed: bool,
    pub step: DecisionStep,
    /// Those that made the decision.
    pub policies: Vec<Arc<str>>,
    pub reason: Option<Arc<str>>,
    /// One sentence.
    pub words: String,
}

impl Explanation {
    /// The key opens nothing: `why` is behind "the key".
    pub fn of_dead_key(why: &str) -> Self {
        Self::of(false, DecisionStep::Key, format!("the key {why}: it is not let in"))
    }

    fn of(is_allowed: bool, step: DecisionStep, words: String) -> Self {
        Self { is_allowed, step, policies: Vec::new(), reason: None, words }
    }

    fn refused(step: DecisionStep, refusal: RefusalCause, what: &str) -> Self {
        let names = quoted(&refusal.policies);
        let words = match (refusal.policies.as_slice(), what) {
            ([], what) => format!("no policy permits the caller to {what}"),
            (_, what) => format!("{names} forbids the caller to {what}"),
        };
        let RefusalCause { policies, reason } = refusal;
        Self { policies, reason, ..Self::of(false, step, words) }
    }
}

/// May the caller, and why? The steps are those of a request, in their order.
pub fn explain(policies: &Policies, question: &Question<'_>) -> Explanation {
    let Question { caller, grants, action, target, circumstances } = *question;
    let role = Role::named(&caller.role);
    if action != Action::List && role.is_none_or(|role| role < Role::Caller) {
        let words = format!("the role {} may look and use nothing", caller.role);
        return Explanation::of(false, DecisionStep::Role, words);
    }
    if !within(grants, &target) {
        let words =
            "the patterns of the key leave it out: it does not exist for the caller".to_owned();
        return Explanation::of(false, DecisionStep::Patterns, words);
    }
    if policies.is_open() {
        let words = "role and patterns allow it, and there are no policies".to_owned();
        return Explanation::of(true, DecisionStep::NoPolicies, words);
    }
    let own = policies.for_caller(caller);
    if let Err(refusal) = own.decide(Action::List, &target, &circumstances) {
        return Explanation::refused(
            DecisionStep::List,
            refusal,
            "list it, so it does not exist for the caller",
        );
    }
    match own.decide(action, &target, &circumstances) {
        Err(refusal) => Explanation::refused(DecisionStep::Policies, refusal, action.name()),
        Ok(by) => {
            let words = format!("{} permits the caller to {} it", quoted(&by), action.name());
            Explanation { policies: by, ..Explanation::of(true, DecisionStep::Policies, words) }
        }
    }
}

/// Resources and prompts need the whole server.
fn within(grants: &Grants, target: &RequestTarget<'_>) -> bool {
    match target {
        RequestTarget::Tool { server, name, .. } => grants.allows(server, name),
        RequestTarget::Server { server } => grants.touches(server),
        RequestTarget::Resource { server, .. } | RequestTarget::Prompt { server, .. } => {
            grants.all_of(server)
        }
    }
}

fn quoted(ids: &[Arc<str>]) -> String {
    let ids: Vec<_> = ids.iter().map(|id| format!("\"{id}\"")).collect();
    match ids.as_slice() {
        [one] => format!("policy {one}"),
        several => format!("each of the policies {}", several.join(", ")),
    }
}
