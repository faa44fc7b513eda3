//! One decision about one caller, action and target, with the policies that made it.
//!
//! A policy that has only a head is matched here. Cedar evaluates those with conditions, and of these only the
//! ones whose head fits the caller.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::caller::PolicyCaller;
use crate::read::{Effect, Policies, ReadPolicy};
use crate::schema::{Action, VOCABULARY};
use crate::scope::{Ancestry, fits_action, fits_principal, fits_resource};
use crate::target::RequestTarget;
use crate::value;

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
}

/// Those for one action.
#[derive(Debug, Default)]
struct Concerning {
    policies: Vec<Arc<ReadPolicy>>,
    /// Those with conditions, without and with a look at the circumstances.
    steady: PolicySet,
    changing: PolicySet,
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

/// What the policies that were evaluated say.
#[derive(Default)]
struct Evaluated {
    forbidding: Vec<String>,
    permitting: Vec<String>,
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
        made.shut_out = made.is_shut_out(&concerning);
        made
    }

    fn made(
        who: Ancestry,
        entities: Entities,
        by_action: HashMap<Action, Concerning>,
        fault: Option<RefusalCause>,
    ) -> CallerPolicies {
        CallerPolicies { who, entities, by_action, fault, shut_out: None }
    }
}

impl Concerning {
    fn of(all: &[Arc<ReadPolicy>], action: Action) -> Self {
        let fitting = all.iter().filter(|policy| fits_action(&policy.action, action));
        let policies: Vec<_> = fitting.cloned().collect();
        let set = |changing| {
            let chosen = policies.iter().filter(|policy| {
                !policy.is_plain && (action != Action::List && policy.info.uses_context) == changing
            });
            // Never fails: ids are distinct.
            PolicySet::from_policies(chosen.map(|policy| policy.policy.clone())).unwrap_or_default()
        };
        let (steady, changing) = (set(false), set(true));
        Self { policies, steady, changing }
    }
}

impl CallerPolicies {
    /// Is the caller forbidden everything, whatever it asks for? By these.
    pub fn shut_out(&self) -> Option<&RefusalCause> {
        self.shut_out.as_ref()
    }

    /// May it, as far as that holds for every call? `Depends`: ask `decide` for each.
    pub fn verdict(&self, action: Action, target: &RequestTarget<'_>) -> CallerVerdict {
        self.weigh(action, target, None)
    }

    /// May it, in these circumstances?
    pub fn decide(
        &self,
        action: Action,
        target: &RequestTarget<'_>,
        circumstances: &Circumstances<'_>,
    ) -> Result<Vec<Arc<str>>, RefusalCause> {
        match self.weigh(action, target, Some(circumstances)) {
            CallerVerdict::Allowed(by) => Ok(by),
            CallerVerdict::Refused(refusal) => Err(refusal),
            // Never comes with circumstances; refused, as everything that is not decided.
            CallerVerdict::Depends => Err(RefusalCause { policies: Vec::new(), reason: None }),
        }
    }

    fn weigh(
        &self,
        action: Action,
        target: &RequestTarget<'_>,
        circumstances: Option<&Circumstances<'_>>,
    ) -> CallerVerdict {
        if let Some(fault) = &self.fault {
            return CallerVerdict::Refused(fault.clone());
        }
        let Some(concerning) = self.by_action.get(&action).filter(|_| target.takes(action)) else {
            return CallerVerdict::Refused(RefusalCause { policies: Vec::new(), reason: None });
        };
        let what = Ancestry { uid: target.uid(), parents: target.parents() };
        let fitting: Vec<_> = concerning
            .policies
            .iter()
            .filter(|policy| fits_resource(&policy.resource, &what))
            .collect();
        let is_steady = |policy: &ReadPolicy| action == Action::List || !policy.info.uses_context;
        let mut found = Evaluated::default();
        if fitting.iter().any(|policy| !policy.is_plain && is_steady(policy)) {
            self.evaluate(
                action,
                (target, &what),
                Some(Context::empty()),
                &concerning.steady,
                &mut found,
            );
        }
        let open: Vec<_> = fitting.iter().filter(|policy| !is_steady(policy)).collect();
        if let (Some(circumstances), false) = (circumstances, open.is_empty()) {
            let context = context(circumstances);
            self.evaluate(action, (target, &what), context, &concerning.changing, &mut found);
        }
        let says = |policy: &ReadPolicy, effect: Effect, evaluated: &[String]| {
            let is_found = || evaluated.iter().any(|id| **id == *policy.info.id);
            policy.info.effect == effect && (policy.is_plain || is_found())
        };
        let forbids = || {
            fitting.iter().copied().filter(|policy| says(policy, Effect::Forbid, &found.forbidding))
        };
        if forbids().next().is_some() {
            return CallerVerdict::Refused(RefusalCause::by(forbids()));
        }
        let permits =
            fitting.iter().filter(|policy| says(policy, Effect::Permit, &found.permitting));
        let permits: Vec<_> = permits.map(|policy| Arc::clone(&policy.info.id)).collect();
        let is_open = |effect| {
            circumstances.is_none() && open.iter().any(|policy| policy.info.effect == effect)
        };
        match permits.is_empty() {
            _ if is_open(Effect::Forbid) => CallerVerdict::Depends,
            true if is_open(Effect::Permit) => CallerVerdict::Depends,
            true => CallerVerdict::Refused(RefusalCause { policies: Vec::new(), reason: None }),
            false => CallerVerdict::Allowed(permits),
        }
    }

    /// Adds what these policies say. One that forbids and cannot be evaluated forbids: whoever sends something
    /// that its author did not think of must not get past it. `context: None` cannot be judged at all.
    fn evaluate(
        &self,
        action: Action,
        (target, what): (&RequestTarget<'_>, &Ancestry),
        context: Option<Context>,
        policies: &PolicySet,
        found: &mut Evaluated,
    ) {
        let all_forbids = || {
            let forbids = policies
                .policies()
                .filter(|policy| policy.effect() == cedar_policy::Effect::Forbid);
            forbids.map(|policy| policy.id().to_string())
        };
        let entities = self.entities.clone().add_entities(target.entities(), None);
        let request =
            context.and_then(|context| request(&self.who.uid, action, &what.uid, context));
        let (Ok(entities), Some(request)) = (entities, request) else {
            found.forbidding.extend(all_forbids());
            return;
        };
        let response = Authorizer::new().is_authorized(&request, policies, &entities);
        let reason = response.diagnostics().reason().map(ToString::to_string);
        match response.decision() {
            Decision::Allow => found.permitting.extend(reason),
            Decision::Deny => found.forbidding.extend(reason),
        }
        for error in response.diagnostics().errors() {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
            let id = error.policy_id();
            let forbids =
                |policy: &cedar_policy::Policy| policy.effect() == cedar_policy::Effect::Forbid;
            if policies.policy(id).is_some_and(forbids) {
                found.forbidding.push(id.to_string());
            }
        }
    }

    /// By policies that forbid this caller everything: any action, any resource, and a condition, if there is
    /// one, that looks at the caller only.
    fn is_shut_out(&self, concerning: &[Arc<ReadPolicy>]) -> Option<RefusalCause> {
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
        let CallerVerdict::Refused(refusal) = self.weigh(Action::List, &anything, None) else {
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

fn request(who: &EntityUid, action: Action, what: &EntityUid, context: Context) -> Option<Request> {
    Request::new(who.clone(), action.uid(), what.clone(), context, None).ok()
}

/// `None`: the arguments are no object, or have a member twice.
fn context(circumstances: &Circumstances<'_>) -> Option<Context> {
    let arguments = match circumstances.arguments {
        b"" => value::empty_record(),
        arguments => value::record(arguments).ok()?,
    };
    let now = RestrictedExpression::new_record(
        moment(circumstances.now)
            .map(|(name, value)| (name.to_owned(), RestrictedExpression::new_long(value))),
    );
    // An address that a dual-stack socket shows as IPv6 is the IPv4 one that people write.
    let address = circumstances.address.to_canonical().to_string();
    let pairs = [
        ("arguments".to_owned(), arguments),
        ("now".to_owned(), now.ok()?),
        ("address".to_owned(), RestrictedExpression::new_ip(address)),
    ];
    Context::from_pairs(pairs).ok()
}

/// The parts of a moment, UTC; those of 1970 for a time that no calendar has.
fn moment(epoch: i64) -> [(&'static str, i64); 7] {
    let at = TimeZone::UTC.to_datetime(Timestamp::from_second(epoch).unwrap_or_default());
    [
        ("epoch", epoch),
        ("year", at.year().into()),
        ("month", at.month().into()),
        ("day", at.day().into()),
        ("hour", at.hour().into()),
        ("minute", at.minute().into()),
        ("weekday", at.weekday().to_monday_one_offset().into()),
    ]
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
