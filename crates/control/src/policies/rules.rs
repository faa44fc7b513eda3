//! `PolicyRules`: policies for one caller, with what they have decided so far.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use trunkline_gateway::{
    PolicyGrant, PolicyRefusal, PolicyTarget, PolicyVerdict, PreparedCall, RequestFacts,
};
use trunkline_policy::{
    Action, CallerPolicies, CallerVerdict, Circumstances, PolicyCaller, PreparedDecision,
    RefusalCause, RequestTarget,
};

use super::facts::{ServerFacts, ToolFact};
use super::holder::PolicyHolder;
use crate::access::CallerRules;
use crate::clock;

/// Decisions that are remembered of a caller, some 200 bytes each. Beyond that it begins anew.
const MOST_DECISIONS: usize = 16_384;
/// Tools about whose calls Cedar is asked each time, and prepared for a caller: some kilobytes each. Beyond that it begins
/// anew. What needs no Cedar is kept with the caller's view.
const MOST_PREPARED: usize = 32;

#[derive(Debug)]
pub struct PolicyRules {
    holder: Arc<PolicyHolder>,
    caller: PolicyCaller,
    identity: String,
    /// A leaf lock, but for that of the facts, which are read before it is taken. Calls of tools do not come here, but
    /// for a look at what is prepared: what was decided about them for good is in the caller's view.
    decided: Mutex<Decided>,
}

#[derive(Debug, Default)]
struct Decided {
    /// Of the policies; 0: none were looked at yet.
    version: u64,
    policies: Option<Arc<CallerPolicies>>,
    verdicts: HashMap<(Action, OwnedTarget), CallerVerdict>,
    /// By server.
    prepared: HashMap<String, PreparedTools>,
}

/// Decisions about tools of one server, by their own names.
#[derive(Debug)]
struct PreparedTools {
    /// What the tools said about themselves when these were prepared.
    facts: Arc<ServerFacts>,
    tools: HashMap<String, Arc<PreparedDecision>>,
}

/// What was decided about, with everything that policies may ask of it: what a tool says about itself may change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum OwnedTarget {
    Server(String),
    Tool(String, String, ToolFact),
    Resource(String, String),
    Prompt(String, String),
}

impl OwnedTarget {
    fn borrowed(&self) -> RequestTarget<'_> {
        match self {
            Self::Server(server) => RequestTarget::Server { server },
            Self::Tool(server, name, fact) => {
                RequestTarget::Tool { server, name, hints: fact.hints, skills: &fact.skills }
            }
            Self::Resource(server, uri) => RequestTarget::Resource { server, uri },
            Self::Prompt(server, name) => RequestTarget::Prompt { server, name },
        }
    }

    /// What using it is.
    fn use_action(&self) -> Action {
        match self {
            Self::Server(_) | Self::Tool(..) => Action::Call,
            Self::Resource(..) => Action::Read,
            Self::Prompt(..) => Action::Get,
        }
    }
}

impl PolicyRules {
    pub(super) fn new(holder: Arc<PolicyHolder>, caller: PolicyCaller, identity: String) -> Self {
        Self { holder, caller, identity, decided: Mutex::default() }
    }

    /// Those that concern the caller, as they are now.
    fn policies(&self) -> Arc<CallerPolicies> {
        let mut decided = self.decided.lock();
        self.renew(&mut decided)
    }

    fn renew(&self, decided: &mut Decided) -> Arc<CallerPolicies> {
        // Counted from 1, so that a new one is never up to date.
        let version = self.holder.version() + 1;
        match &decided.policies {
            Some(policies) if decided.version == version => Arc::clone(policies),
            _ => {
                let policies = Arc::new(self.holder.current().for_caller(&self.caller));
                let renewed = Some(Arc::clone(&policies));
                *decided = Decided { version, policies: renewed, ..Decided::default() };
                policies
            }
        }
    }

    fn target(&self, what: PolicyTarget<'_>) -> OwnedTarget {
        match what {
            PolicyTarget::Server(server) => OwnedTarget::Server(server.to_owned()),
            PolicyTarget::Tool { server, tool } => {
                let fact = self.holder.facts.of(server).get(tool).cloned().unwrap_or_default();
                OwnedTarget::Tool(server.to_owned(), tool.to_owned(), fact)
            }
            PolicyTarget::Resource { server, uri } => {
                OwnedTarget::Resource(server.to_owned(), uri.to_owned())
            }
            PolicyTarget::Prompt { server, prompt } => {
                OwnedTarget::Prompt(server.to_owned(), prompt.to_owned())
            }
        }
    }

    fn verdict_of(&self, action: Action, target: OwnedTarget) -> CallerVerdict {
        let mut decided = self.decided.lock();
        let policies = self.renew(&mut decided);
        let key = (action, target);
        if let Some(known) = decided.verdicts.get(&key) {
            return known.clone();
        }
        let verdict = policies.verdict(action, &key.1.borrowed());
        if decided.verdicts.len() >= MOST_DECISIONS {
            decided.verdicts.clear();
        }
        decided.verdicts.insert(key, verdict.clone());
        verdict
    }
}

impl PolicyRules {
    /// What decides about the calls of this tool. Found without an allocation when it was called before.
    fn prepared_tool(&self, server: &str, tool: &str) -> Arc<PreparedDecision> {
        let facts = self.holder.facts.of(server);
        let mut decided = self.decided.lock();
        let policies = self.renew(&mut decided);
        let known = decided.prepared.get(server).filter(|known| Arc::ptr_eq(&known.facts, &facts));
        if let Some(prepared) = known.and_then(|known| known.tools.get(tool)) {
            return Arc::clone(prepared);
        }
        let ToolFact { hints, skills } = facts.get(tool).cloned().unwrap_or_default();
        let target = RequestTarget::Tool { server, name: tool, hints, skills: &skills };
        let prepared = Arc::new(policies.prepare(Action::Call, &target));
        if decided.prepared.values().map(|known| known.tools.len()).sum::<usize>() >= MOST_PREPARED
        {
            decided.prepared.clear();
        }
        let anew = || PreparedTools { facts: Arc::clone(&facts), tools: HashMap::new() };
        let known = decided.prepared.entry(server.to_owned()).or_insert_with(anew);
        if !Arc::ptr_eq(&known.facts, &facts) {
            *known = anew();
        }
        known.tools.insert(tool.to_owned(), Arc::clone(&prepared));
        prepared
    }
}

/// What decides about the calls of a tool without Cedar: it is kept with the caller's view.
#[derive(Debug)]
struct PreparedTool {
    holder: Arc<PolicyHolder>,
    /// Of the policies it was prepared with.
    version: u64,
    decision: PreparedDecision,
}

impl PreparedCall for PreparedTool {
    fn decide(&self, request: &RequestFacts<'_>) -> Option<Result<(), Arc<PolicyRefusal>>> {
        // The view is made anew when they change, but not during a round.
        (self.version == self.holder.version())
            .then(|| self.decision.admits(&circumstances(request)).map_err(told))
    }
}

fn circumstances<'a>(request: &RequestFacts<'a>) -> Circumstances<'a> {
    Circumstances {
        arguments: request.arguments,
        now: i64::try_from(clock::seconds()).unwrap_or(i64::MAX),
        address: request.address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    }
}

impl PolicyGrant for PolicyRules {
    fn shows(&self, what: PolicyTarget<'_>) -> bool {
        matches!(self.verdict_of(Action::List, self.target(what)), CallerVerdict::Allowed(_))
    }

    fn shuts_out(&self) -> bool {
        self.policies().shut_out().is_some()
    }

    fn verdict(&self, what: PolicyTarget<'_>) -> PolicyVerdict {
        let target = self.target(what);
        match self.verdict_of(target.use_action(), target) {
            CallerVerdict::Allowed(_) => PolicyVerdict::Allowed,
            CallerVerdict::Refused(refusal) => PolicyVerdict::Refused(told(refusal)),
            CallerVerdict::Depends => PolicyVerdict::Depends,
        }
    }

    fn decide(
        &self,
        what: PolicyTarget<'_>,
        request: &RequestFacts<'_>,
    ) -> Result<(), Arc<PolicyRefusal>> {
        let circumstances = circumstances(request);
        // Without the lock: what is decided anew each time must not make others wait.
        let decided = match what {
            PolicyTarget::Tool { server, tool } => {
                self.prepared_tool(server, tool).admits(&circumstances)
            }
            other => {
                let target = self.target(other);
                let prepared = self.policies().prepare(target.use_action(), &target.borrowed());
                prepared.admits(&circumstances)
            }
        };
        decided.map_err(told)
    }

    fn prepare(&self, server: &str, tool: &str) -> Option<Arc<dyn PreparedCall>> {
        // Before the policies: what changes in between is asked for at the next call.
        let version = self.holder.version();
        let facts = self.holder.facts.of(server);
        let ToolFact { hints, skills } = facts.get(tool).cloned().unwrap_or_default();
        let target = RequestTarget::Tool { server, name: tool, hints, skills: &skills };
        let decision = self.policies().prepare(Action::Call, &target);
        let holder = Arc::clone(&self.holder);
        (!decision.asks_cedar())
            .then(|| Arc::new(PreparedTool { holder, version, decision }) as Arc<dyn PreparedCall>)
    }
}

impl CallerRules for PolicyRules {
    fn touches(&self, server: &str) -> bool {
        self.shows(PolicyTarget::Server(server))
            || self
                .holder
                .facts
                .of(server)
                .keys()
                .any(|tool| self.shows(PolicyTarget::Tool { server, tool }))
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

fn told(RefusalCause { policies, reason }: RefusalCause) -> Arc<PolicyRefusal> {
    Arc::new(PolicyRefusal { policies, reason })
}

#[cfg(test)]
mod tests {
    use trunkline_policy::{CallerKind, PolicySource};

    use super::*;
    use crate::policies::GroupsClaim;

    fn files(condition: &str) -> Vec<PolicySource> {
        let text = format!(
            "permit(principal, action, resource);\n\
             forbid(principal, action == Trunkline::Action::\"call\", resource) when {{ {condition} }};"
        );
        vec![PolicySource { name: "f".to_owned(), text }]
    }

    fn is_allowed(prepared: &dyn PreparedCall, arguments: &str) -> Option<bool> {
        let request = RequestFacts { arguments: arguments.as_bytes(), address: None };
        prepared.decide(&request).map(|decided| decided.is_ok())
    }

    #[test]
    fn what_decides_about_calls_is_kept_until_the_policies_change() {
        let holder = PolicyHolder::new(GroupsClaim::default());
        holder.set_files(files("context.arguments.n > 1")).unwrap();
        let caller = PolicyCaller { kind: CallerKind::Anonymous, role: "caller".to_owned() };
        let rules = holder.rules(caller);
        let prepared = rules.prepare("s", "t").unwrap();
        assert_eq!(is_allowed(&*prepared, r#"{"n":1}"#), Some(true));
        assert_eq!(is_allowed(&*prepared, r#"{"n":2}"#), Some(false));
        holder.set_files(files("context.arguments.n > 2")).unwrap();
        assert_eq!(is_allowed(&*prepared, r#"{"n":2}"#), None, "it is asked for again");
        let prepared = rules.prepare("s", "t").unwrap();
        assert_eq!(is_allowed(&*prepared, r#"{"n":2}"#), Some(true));
        // Cedar is asked each time: that takes more memory than a view has for a tool.
        holder.set_files(files("context.arguments == {n: 1}")).unwrap();
        assert!(rules.prepare("s", "t").is_none());
    }
}
