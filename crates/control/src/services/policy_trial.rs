//! `PolicyTrial`: a decision that somebody wants to know, and what would be decided.

use std::net::IpAddr;

use trunkline_catalog::name::escaped;
use trunkline_policy::{Action, Circumstances, Hints, Policies, PolicyCaller, PolicyInfo};

use crate::access::{ApiKey, Credentials, Grants, KeyId, Role};
use crate::fault::{Pointer, Problem, RequestFault};
use crate::policies::{
    CallerDetails, Explanation, NamedCaller, NamedTarget, PolicyHolder, Question, explain,
};

/// Who would do what. What is not said about a key or a tool is what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyTrial {
    pub(crate) caller: NamedCaller,
    pub(crate) name: Option<String>,
    pub(crate) role: Option<Role>,
    /// Patterns of tools.
    pub(crate) tools: Option<Vec<String>>,
    /// A JSON object, or nothing.
    pub(crate) claims: String,
    pub(crate) action: Action,
    pub(crate) target: NamedTarget,
    pub(crate) hints: Option<Hints>,
    pub(crate) skills: Option<Vec<String>>,
    /// A JSON object, or nothing.
    pub(crate) arguments: String,
    /// Seconds since 1970.
    pub(crate) now: i64,
    pub(crate) address: IpAddr,
    pub(crate) draft: Option<PolicyDraft>,
}

/// A text that is tried and not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyDraft {
    /// The stored policy whose place it takes.
    pub(crate) id: Option<String>,
    pub(crate) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TriedDecision {
    pub(crate) explanation: Explanation,
    /// Those that made the decision.
    pub(crate) policies: Vec<PolicyInfo>,
    /// What the asker may not have meant.
    pub(crate) note: Option<String>,
}

impl PolicyTrial {
    /// What would be decided by these policies.
    pub(super) fn decide(
        &self,
        policies: &Policies,
        holder: &PolicyHolder,
        known: &Credentials,
    ) -> Result<TriedDecision, Problem> {
        let key = self.key(known)?;
        let (hints, skills, note) = self.facts(holder);
        let explanation = match key.and_then(|key| self.dead(key)) {
            Some(dead) => dead,
            None => {
                let question = Question {
                    caller: &self.principal(key, holder),
                    grants: &self.grants(key)?,
                    action: self.action,
                    target: self.target.target(hints, &skills),
                    circumstances: Circumstances {
                        arguments: self.arguments.as_bytes(),
                        now: self.now,
                        address: self.address,
                    },
                };
                explain(policies, &question)
            }
        };
        let policies = policies.named(&explanation.policies);
        Ok(TriedDecision { explanation, policies, note })
    }

    fn principal(&self, key: Option<&ApiKey>, holder: &PolicyHolder) -> PolicyCaller {
        let name = self.name.as_deref().or(key.map(|key| key.name.as_str()));
        let role = self.role.or(key.map(|key| key.role)).map(Role::name);
        let details = CallerDetails { name: name.unwrap_or_default(), role, claims: &self.claims };
        self.caller.caller(details, holder.groups_claim())
    }

    fn grants(&self, key: Option<&ApiKey>) -> Result<Grants, Problem> {
        let Some(patterns) = &self.tools else {
            return Ok(key.map_or(Grants::All, |key| key.grants.clone()));
        };
        Grants::read(patterns.iter().map(String::as_str)).map_err(|(at, why)| {
            let at = Pointer::root().key("tools").index(at);
            Problem::invalid(vec![RequestFault::at(&at, format!("cannot be read: {why}"))])
        })
    }

    /// The API key that is meant; `None`: it is somebody else, or the token of `--token`.
    fn key<'k>(&self, known: &'k Credentials) -> Result<Option<&'k ApiKey>, Problem> {
        let NamedCaller::Key(id) = &self.caller else { return Ok(None) };
        if id == "token" {
            return Ok(None);
        }
        let key = KeyId::read(id).and_then(|id| known.keys.get(&id));
        key.map(Some).ok_or_else(|| {
            let at = Pointer::root().key("principal");
            let fault = RequestFault::at(&at, format!("names no API key: `{}`", escaped(id)));
            let hint =
                "write its id: GET /api/v1/keys lists them, and records of the audit log name them";
            Problem::invalid(vec![fault.hint(hint)])
        })
    }

    /// Why the key is not let in at that time, if it is not.
    fn dead(&self, key: &ApiKey) -> Option<Explanation> {
        let has_expired =
            key.expires_at.is_some_and(|end| i64::try_from(end).is_ok_and(|end| end <= self.now));
        match key.revoked_at {
            Some(_) => Some(Explanation::of_dead_key("was revoked")),
            None => has_expired.then(|| Explanation::of_dead_key("has expired by then")),
        }
    }

    /// What policies may ask of the tool, as it was said or as its server says.
    fn facts(&self, holder: &PolicyHolder) -> (Hints, Vec<String>, Option<String>) {
        let NamedTarget::Tool(server, tool) = &self.target else {
            return (Hints::default(), Vec::new(), None);
        };
        let offered = holder.tool_facts(server, tool);
        let note = (offered.is_none() && self.hints.is_none()).then(|| {
            format!(
                "server `{}` offers no tool `{}` now: it was taken for one that says nothing about itself",
                escaped(server),
                escaped(tool)
            )
        });
        let (hints, skills) = offered.unwrap_or_default();
        (self.hints.unwrap_or(hints), self.skills.clone().unwrap_or(skills), note)
    }
}
