//! `PreparedDecision`: what is left to be decided about one caller, action and target at each call.
//!
//! Everything that is the same for each call was found out before: which policies fit, what those say that do not look
//! at the circumstances, and what the others look at. Of the circumstances only that is made ready for Cedar, and Cedar
//! is asked again only about what differs from the last few times.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use cedar_policy::{
    Authorizer, Context, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

use super::{CallerVerdict, Circumstances, RefusalCause};
use crate::looks::Looks;
use crate::read::{Effect, ReadPolicy};
use crate::value;

#[derive(Debug)]
pub struct PreparedDecision {
    /// The target as it is written, and in the other forms that it may be understood in. True: that form leads elsewhere
    /// than what is written says.
    forms: Vec<(PreparedForm, bool)>,
}

/// What it is prepared for: what is asked of Cedar at each call is not needed in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreparedFor {
    Lists,
    Calls,
}

impl PreparedDecision {
    /// There are no policies.
    pub(super) fn allowed() -> Self {
        Self { forms: Vec::new() }
    }

    pub(super) fn of(forms: Vec<(PreparedForm, bool)>) -> Self {
        Self { forms }
    }

    /// May it, in these circumstances? By these policies.
    pub fn decide(&self, circumstances: &Circumstances<'_>) -> Result<Vec<Arc<str>>, RefusalCause> {
        match self.weigh(Some(circumstances)) {
            CallerVerdict::Allowed(by) => Ok(by),
            CallerVerdict::Refused(refusal) => Err(refusal),
            // Never comes with circumstances; refused, as everything that is not decided.
            CallerVerdict::Depends => Err(RefusalCause { policies: Vec::new(), reason: None }),
        }
    }

    /// What one of its forms is forbidden is forbidden, and what leads elsewhere than it says has to be permitted there
    /// as well.
    pub(super) fn weigh(&self, circumstances: Option<&Circumstances<'_>>) -> CallerVerdict {
        let Some(((written, _), others)) = self.forms.split_first() else {
            return CallerVerdict::Allowed(Vec::new());
        };
        let mut verdict = written.weigh(circumstances);
        for (other, is_elsewhere) in others {
            if let CallerVerdict::Refused(_) = verdict {
                return verdict;
            }
            match other.weigh(circumstances) {
                CallerVerdict::Refused(cause) if *is_elsewhere || !cause.policies.is_empty() => {
                    verdict = CallerVerdict::Refused(cause);
                }
                CallerVerdict::Depends => verdict = CallerVerdict::Depends,
                CallerVerdict::Allowed(_) | CallerVerdict::Refused(_) => {}
            }
        }
        verdict
    }
}

/// One form of the target.
#[derive(Debug)]
pub(super) struct PreparedForm {
    /// Whatever the policies say.
    refused: Option<RefusalCause>,
    /// The policies whose head fits, in their order.
    fitting: Vec<(Arc<ReadPolicy>, Applies)>,
    /// Those that look at the circumstances; `None`: none does, or it is prepared for lists.
    open: Option<OpenPolicies>,
}

/// Does a policy whose head fits apply?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    Yes,
    No,
    /// It looks at the circumstances.
    Open,
}

impl PreparedForm {
    pub(super) fn refused(cause: RefusalCause) -> Self {
        Self { refused: Some(cause), fitting: Vec::new(), open: None }
    }

    /// `found`: what the steady ones say. `subject`: who is asked about; `None`: nobody is.
    pub(super) fn new(
        fitting: Vec<Arc<ReadPolicy>>,
        found: &Evaluated,
        is_steady: impl Fn(&ReadPolicy) -> bool,
        subject: Option<Arc<Subject>>,
    ) -> Self {
        let open = fitting.iter().filter(|policy| !is_steady(policy));
        let open: Vec<_> = open.map(Arc::clone).collect();
        let open = subject.filter(|_| !open.is_empty()).map(|it| OpenPolicies::new(&open, it));
        let applies = |policy: &ReadPolicy| match is_steady(policy) {
            false => Applies::Open,
            true if policy.is_plain || found.has(policy) => Applies::Yes,
            true => Applies::No,
        };
        let fitting = fitting.into_iter().map(|policy| {
            let applies = applies(&policy);
            (policy, applies)
        });
        Self { refused: None, fitting: fitting.collect(), open }
    }

    fn weigh(&self, circumstances: Option<&Circumstances<'_>>) -> CallerVerdict {
        if let Some(cause) = &self.refused {
            return CallerVerdict::Refused(cause.clone());
        }
        let mut found = Evaluated::default();
        if let (Some(open), Some(circumstances)) = (&self.open, circumstances) {
            open.evaluate(circumstances, &mut found);
        }
        let those = |effect: Effect| {
            let fitting = self.fitting.iter().filter(move |(it, _)| it.info.effect == effect);
            let applying = fitting.filter(|(policy, applies)| match applies {
                Applies::Yes => true,
                Applies::No => false,
                Applies::Open => found.has(policy),
            });
            applying.map(|(policy, _)| policy)
        };
        if those(Effect::Forbid).next().is_some() {
            return CallerVerdict::Refused(RefusalCause::by(those(Effect::Forbid)));
        }
        let permits: Vec<_> =
            those(Effect::Permit).map(|policy| Arc::clone(&policy.info.id)).collect();
        let is_open = |effect| {
            let is_it = |(policy, applies): &(Arc<ReadPolicy>, Applies)| {
                *applies == Applies::Open && policy.info.effect == effect
            };
            circumstances.is_none() && self.fitting.iter().any(is_it)
        };
        match permits.is_empty() {
            _ if is_open(Effect::Forbid) => CallerVerdict::Depends,
            true if is_open(Effect::Permit) => CallerVerdict::Depends,
            true => CallerVerdict::Refused(RefusalCause { policies: Vec::new(), reason: None }),
            false => CallerVerdict::Allowed(permits),
        }
    }
}

/// Those of a form that look at the circumstances.
#[derive(Debug)]
struct OpenPolicies {
    subject: Arc<Subject>,
    /// Those that look at the arguments, and what they look at.
    argued: PolicySet,
    looks: Looks,
    /// Those that look at time and address only.
    timed: PolicySet,
    timed_looks: Looks,
    /// What they said when they were last asked.
    // A leaf lock: held for a look or a change.
    last: Mutex<Option<(Moment, Option<IpAddr>, Evaluated)>>,
    /// What those that look at the arguments said the last few times, the newest last.
    // A leaf lock, too, never held with the other.
    said: Mutex<VecDeque<(AskedAbout, Evaluated)>>,
}

/// How many answers about arguments are remembered of a caller, a tool and a form, and how long what they are about may
/// be: a kilobyte in all. Callers choose what they send, so that more would be their memory and not ours.
const MOST_SAID: usize = 4;
const LONGEST_SAID: usize = 256;

/// What policies that look at the arguments are asked about, as far as they look at it.
#[derive(Debug, PartialEq, Eq)]
struct AskedAbout {
    arguments: Vec<u8>,
    now: Moment,
    address: Option<IpAddr>,
}

impl OpenPolicies {
    fn new(open: &[Arc<ReadPolicy>], subject: Arc<Subject>) -> Self {
        let those = |argued: bool| {
            let those = open.iter().filter(move |it| it.looks.arguments.is_empty() != argued);
            let mut looks = Looks::default();
            those.clone().for_each(|policy| looks.join(&policy.looks));
            // Never fails: ids are distinct.
            let set = PolicySet::from_policies(those.map(|policy| policy.policy.clone()));
            (set.unwrap_or_default(), looks)
        };
        let ((argued, looks), (timed, timed_looks)) = (those(true), those(false));
        let (last, said) = (Mutex::default(), Mutex::default());
        Self { subject, argued, looks, timed, timed_looks, last, said }
    }

    fn evaluate(&self, circumstances: &Circumstances<'_>, found: &mut Evaluated) {
        // The arguments are no object, or have a member twice: it cannot be judged at all.
        if self.evaluate_argued(circumstances, found).is_none() {
            found.add_forbids(&self.argued);
            return found.add_forbids(&self.timed);
        }
        if !self.timed.is_empty() {
            self.evaluate_timed(circumstances, found);
        }
    }

    /// `None`: the arguments cannot be read.
    fn evaluate_argued(
        &self,
        circumstances: &Circumstances<'_>,
        found: &mut Evaluated,
    ) -> Option<()> {
        let (given, wanted) = (circumstances.arguments, &self.looks.arguments);
        let text = if given.is_empty() { Vec::new() } else { value::text_of(given, wanted)? };
        let asked = AskedAbout {
            arguments: text,
            now: moment(circumstances.now, &self.looks),
            address: self.looks.address.then_some(circumstances.address),
        };
        if self.argued.is_empty() || self.add_said(&asked, found) {
            return Some(());
        }
        let arguments = match given {
            b"" => value::empty_record(),
            given => value::record_of(given, wanted).ok()?,
        };
        let context = context(circumstances, &self.looks, Some(arguments));
        let mut said = Evaluated::default();
        self.subject.evaluate(context, &self.argued, &mut said);
        found.add(&said);
        self.remember(asked, said);
        Some(())
    }

    /// False: it has not been asked lately.
    fn add_said(&self, asked: &AskedAbout, found: &mut Evaluated) -> bool {
        let said = self.said.lock();
        let known = said.iter().rev().find(|(known, _)| known == asked);
        known.map(|(_, said)| found.add(said)).is_some()
    }

    fn remember(&self, asked: AskedAbout, answer: Evaluated) {
        if asked.arguments.len() > LONGEST_SAID {
            return;
        }
        let mut said = self.said.lock();
        if said.len() >= MOST_SAID {
            said.pop_front();
        }
        said.push_back((asked, answer));
    }

    fn evaluate_timed(&self, circumstances: &Circumstances<'_>, found: &mut Evaluated) {
        let now = moment(circumstances.now, &self.timed_looks);
        let address = self.timed_looks.address.then_some(circumstances.address);
        if let Some((then, from, said)) = &*self.last.lock()
            && (*then, *from) == (now, address)
        {
            return found.add(said);
        }
        let mut said = Evaluated::default();
        let context = context(circumstances, &self.timed_looks, None);
        self.subject.evaluate(context, &self.timed, &mut said);
        found.add(&said);
        *self.last.lock() = Some((now, address, said));
    }
}

/// What the policies that were evaluated say.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    /// The ids of those that forbid, and of those that permit.
    ids: Vec<String>,
}

impl Evaluated {
    fn has(&self, policy: &ReadPolicy) -> bool {
        self.ids.iter().any(|id| **id == *policy.info.id)
    }

    fn add(&mut self, other: &Self) {
        self.ids.extend_from_slice(&other.ids);
    }

    fn add_forbids(&mut self, policies: &PolicySet) {
        let forbids =
            policies.policies().filter(|policy| policy.effect() == cedar_policy::Effect::Forbid);
        self.ids.extend(forbids.map(|policy| policy.id().to_string()));
    }
}

/// Who wants to do what with what, as Cedar knows them.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) who: EntityUid,
    pub(super) action: EntityUid,
    pub(super) what: EntityUid,
    /// `None`: they do not go together.
    pub(super) entities: Option<Entities>,
}

impl Subject {
    /// Adds what these policies say. One that forbids and cannot be evaluated forbids: whoever sends something
    /// that its author did not think of must not get past it. `context: None` cannot be judged at all.
    pub(super) fn evaluate(
        &self,
        context: Option<Context>,
        policies: &PolicySet,
        found: &mut Evaluated,
    ) {
        let request = context.and_then(|context| self.request(context));
        let (Some(entities), Some(request)) = (&self.entities, request) else {
            return found.add_forbids(policies);
        };
        let response = Authorizer::new().is_authorized(&request, policies, entities);
        // Either those that permit, or those that forbid.
        found.ids.extend(response.diagnostics().reason().map(ToString::to_string));
        for error in response.diagnostics().errors() {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
            let id = error.policy_id();
            let forbids =
                |policy: &cedar_policy::Policy| policy.effect() == cedar_policy::Effect::Forbid;
            if policies.policy(id).is_some_and(forbids) {
                found.ids.push(id.to_string());
            }
        }
    }

    fn request(&self, context: Context) -> Option<Request> {
        let Self { who, action, what, .. } = self;
        Request::new(who.clone(), action.clone(), what.clone(), context, None).ok()
    }
}

/// What is looked at of the circumstances.
pub(super) fn context(
    circumstances: &Circumstances<'_>,
    looks: &Looks,
    arguments: Option<RestrictedExpression>,
) -> Option<Context> {
    let mut pairs = Vec::with_capacity(3);
    pairs.extend(arguments.map(|arguments| ("arguments".to_owned(), arguments)));
    if !looks.now.is_empty() {
        let parts = MOMENT.iter().zip(moment(circumstances.now, looks));
        let parts = parts.filter(|(name, _)| looks.now.has(name));
        let parts =
            parts.map(|(name, value)| ((*name).to_owned(), RestrictedExpression::new_long(value)));
        pairs.push(("now".to_owned(), RestrictedExpression::new_record(parts).ok()?));
    }
    if looks.address {
        // An address that a dual-stack socket shows as IPv6 is the IPv4 one that people write.
        let address = circumstances.address.to_canonical().to_string();
        pairs.push(("address".to_owned(), RestrictedExpression::new_ip(address)));
    }
    Context::from_pairs(pairs).ok()
}

/// The parts of a moment, as policies name them.
const MOMENT: [&str; 7] = ["epoch", "year", "month", "day", "hour", "minute", "weekday"];

type Moment = [i64; 7];

/// The parts of a moment that are looked at, UTC; those of 1970 for a time that no calendar has. The others are 0.
fn moment(epoch: i64, looks: &Looks) -> Moment {
    if looks.now.is_empty() {
        return Moment::default();
    }
    let at = TimeZone::UTC.to_datetime(Timestamp::from_second(epoch).unwrap_or_default());
    let mut parts: Moment = [
        epoch,
        at.year().into(),
        at.month().into(),
        at.day().into(),
        at.hour().into(),
        at.minute().into(),
        at.weekday().to_monday_one_offset().into(),
    ];
    for (part, name) in parts.iter_mut().zip(MOMENT) {
        if !looks.now.has(name) {
            *part = 0;
        }
    }
    parts
}
