//! Who is asked about, and what of the policies concerns them: a decision about one caller, action and target is
//! prepared here, and made in `prepared`.
//!
//! A policy that has only a head is matched here. Cedar evaluates those with conditions (`by_cedar`), and of these only
//! the ones whose head fits the caller; but for conditions that look at the circumstances of a call, which Cedar
//! evaluates only where they are not understood here (`condition`).

mod by_cedar;
mod prepared;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use cedar_policy::{Context, Entities, PolicySet};

use crate::caller::PolicyCaller;
use crate::read::{Effect, Policies, ReadPolicy};
use crate::schema::{Action, VOCABULARY};
use crate::scope::{Ancestry, fits_action, fits_principal, fits_resource};
use crate::target::RequestTarget;
use crate::uri::{UriForm, other_forms};
use by_cedar::{Evaluated, Subject};
use prepared::{FittingPolicies, PreparedFor, PreparedForm};

pub use prepared::PreparedDecision;

/// The policies that can concern one caller.
#[derive(Debug)]
pub struct CallerPolicies {
    who: Ancestry,
    /// The caller, and the actions.
    entities: Entities,
    by_action: HashMap<Action, Concerning>,
    /// Why nothing can be decided: everything is refused then.
    fault: Option<RefusalCause>,
    /// It is shut out altogether, by these.
    shut_out: Option<RefusalCause>,
    /// There are no policies at all.
    is_open: bool,
}

/// Those for one action.
#[derive(Debug, Default)]
struct Concerning {
    policies: Vec<Arc<ReadPolicy>>,
    /// Those with conditions that do not look at the circumstances.
    steady: PolicySet,
}

/// What is true of one call only.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// A JSON object as the client wrote it; empty: there are none.
    pub arguments: &'a [u8],
    /// Seconds since 1970.
    pub now: i64,
    pub address: IpAddr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerVerdict {
    /// By these policies.
    Allowed(Vec<Arc<str>>),
    Refused(RefusalCause),
    /// It depends on the circumstances.
    Depends,
}

/// Why something is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCause {
    /// The policies that forbid it; none: no policy permits it.
    pub policies: Vec<Arc<str>>,
    /// The `@reason` of the first that has one.
    pub reason: Option<Arc<str>>,
}

impl RefusalCause {
    fn by<'p>(policies: impl Iterator<Item = &'p Arc<ReadPolicy>>) -> Self {
        let mut refusal = Self { policies: Vec::new(), reason: None };
        for policy in policies {
            refusal.policies.push(Arc::clone(&policy.info.id));
            refusal.reason = refusal.reason.or_else(|| policy.info.reason.clone());
        }
        refusal
    }
}

impl Policies {
    pub fn for_caller(&self, caller: &PolicyCaller) -> CallerPolicies {
        let who = Ancestry { uid: caller.uid(), parents: caller.parents() };
        let fits = |policy: &&Arc<ReadPolicy>| fits_principal(&policy.principal, &who);
        let concerning: Vec<_> = self.all.iter().filter(fits).cloned().collect();
        let broken = || {
            Some(RefusalCause {
                policies: Vec::new(),
                reason: Some("its claims cannot be read".into()),
            })
        };
        let (entities, fault) = match caller_entities(caller) {
            Ok(entities) => (entities, None),
            Err(()) => (Entities::empty(), broken()),
        };
        let of = |action: Action| (action, Concerning::of(&concerning, action));
        let mut made = Self::made(who, entities, Action::ALL.map(of).into(), fault);
        made.is_open = self.is_open;
        made.shut_out = made.is_shut_out(&concerning);
        made
    }

    fn made(
        who: Ancestry,
        entities: Entities,
        by_action: HashMap<Action, Concerning>,
        fault: Option<RefusalCause>,
    ) -> CallerPolicies {
        CallerPolicies { who, entities, by_action, fault, shut_out: None, is_open: false }
    }
}

impl Concerning {
    fn of(all: &[Arc<ReadPolicy>], action: Action) -> Self {
        let fitting = all.iter().filter(|policy| fits_action(&policy.action, action));
        let policies: Vec<_> = fitting.cloned().collect();
        let chosen = policies.iter().filter(|policy| {
            !policy.is_plain && (action == Action::List || !policy.info.uses_context)
        });
        // Never fails: ids are distinct.
        let steady = PolicySet::from_policies(chosen.map(|policy| policy.policy.clone()));
        Self { steady: steady.unwrap_or_default(), policies }
    }
}

impl CallerPolicies {
    /// Is the caller forbidden everything, whatever it asks for? By these.
    pub fn shut_out(&self) -> Option<&RefusalCause> {
        self.shut_out.as_ref()
    }

    /// May it, as far as that holds for every call? `Depends`: ask `decide` for each, or better what `prepare` makes.
    pub fn verdict(&self, action: Action, target: &RequestTarget<'_>) -> CallerVerdict {
        self.prepared(action, target, PreparedFor::Lists).weigh(None)
    }

    /// May it, in these circumstances?
    pub fn decide(
        &self,
        action: Action,
        target: &RequestTarget<'_>,
        circumstances: &Circumstances<'_>,
    ) -> Result<Vec<Arc<str>>, RefusalCause> {
        self.prepare(action, target).decide(circumstances)
    }

    /// Everything that is the same for each call.
    pub fn prepare(&self, action: Action, target: &RequestTarget<'_>) -> PreparedDecision {
        self.prepared(action, target, PreparedFor::Calls)
    }

    /// A resource is decided about in every form that its URI may be understood in.
    fn prepared(
        &self,
        action: Action,
        target: &RequestTarget<'_>,
        wanted: PreparedFor,
    ) -> PreparedDecision {
        if self.is_open {
            return PreparedDecision::allowed();
        }
        let mut forms = vec![(self.form(action, target, wanted), false)];
        if let RequestTarget::Resource { server, uri } = target {
            for UriForm { text, is_elsewhere } in other_forms(uri) {
                let other = RequestTarget::Resource { server, uri: &text };
                forms.push((self.form(action, &other, wanted), is_elsewhere));
            }
        }
        PreparedDecision::of(forms)
    }

    fn form(
        &self,
        action: Action,
        target: &RequestTarget<'_>,
        wanted: PreparedFor,
    ) -> PreparedForm {
        if let Some(fault) = &self.fault {
            return PreparedForm::refused(fault.clone());
        }
        let Some(concerning) = self.by_action.get(&action).filter(|_| target.takes(action)) else {
            return PreparedForm::refused(RefusalCause { policies: Vec::new(), reason: None });
        };
        let what = Ancestry { uid: target.uid(), parents: target.parents() };
        let fits = |policy: &&Arc<ReadPolicy>| fits_resource(&policy.resource, &what);
        let fitting: Vec<_> = concerning.policies.iter().filter(fits).cloned().collect();
        let is_steady = |policy: &ReadPolicy| action == Action::List || !policy.info.uses_context;
        let subject = || {
            let entities = self.entities.clone().add_entities(target.entities(), None);
            Arc::new(Subject {
                who: self.who.uid.clone(),
                action: action.uid(),
                what: what.uid.clone(),
                entities: entities.ok(),
            })
        };
        let has_steady = fitting.iter().any(|policy| !policy.is_plain && is_steady(policy));
        let needs_subject = |policy: &Arc<ReadPolicy>| {
            !is_steady(policy) && policy.condition.as_ref().is_none_or(|it| it.is_asking)
        };
        let is_asked = wanted == PreparedFor::Calls && fitting.iter().any(needs_subject);
        let subject = (has_steady || is_asked).then(subject);
        let mut found = Evaluated::default();
        if let Some(subject) = subject.as_ref().filter(|_| has_steady) {
            subject.evaluate(Some(Context::empty()), &concerning.steady, &mut found);
        }
        let found = &found;
        FittingPolicies { all: fitting, is_steady, found, subject, wanted }.prepared()
    }

    /// By policies that forbid this caller everything: any action, any resource, and a condition, if there is
    /// one, that looks at the caller only.
    ///
    /// Who has claims that cannot be read may be one of those whom a policy shuts out: it is not let in either.
    fn is_shut_out(&self, concerning: &[Arc<ReadPolicy>]) -> Option<RefusalCause> {
        if let (Some(fault), false) = (&self.fault, self.is_open) {
            return Some(fault.clone());
        }
        let is_total = |policy: &&Arc<ReadPolicy>| {
            policy.info.effect == Effect::Forbid
                && policy.resource == cedar_policy::ResourceConstraint::Any
                && policy.action == cedar_policy::ActionConstraint::Any
                && !policy.info.uses_context
                && !policy.uses_resource
                && !policy.uses_action
        };
        let total: Vec<_> = concerning.iter().filter(is_total).collect();
        let anything = RequestTarget::Server { server: "" };
        let CallerVerdict::Refused(refusal) = self.verdict(Action::List, &anything) else {
            return None;
        };
        let mut by = total
            .into_iter()
            .filter(|policy| refusal.policies.contains(&policy.info.id))
            .peekable();
        by.peek().is_some().then(|| RefusalCause::by(by))
    }
}

fn caller_entities(caller: &PolicyCaller) -> Result<Entities, ()> {
    let vocabulary = VOCABULARY.as_ref().ok_or(())?;
    let own = caller.entity().map_err(drop)?;
    vocabulary.actions.clone().add_entities(own, None).map_err(drop)
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
