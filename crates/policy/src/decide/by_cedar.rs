//! What Cedar is asked: about policies with conditions that do not look at the circumstances, and at each call about those
//! whose conditions are not understood here.
//!
//! Of the circumstances only what is looked at is made ready for Cedar, and Cedar is asked again only about what differs
//! from the last few times.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use cedar_policy::{
    Authorizer, Context, Entities, EntityUid, Policy, PolicyId, PolicySet, Request,
    RestrictedExpression,
};
use parking_lot::Mutex;

use super::Circumstances;
use crate::condition::{KnownParties, QuestionAnswer, civil};
use crate::looks::Looks;
use crate::read::ReadPolicy;
use crate::value;

/// Policies that look at the circumstances, for one caller, action and target.
#[derive(Debug)]
pub(super) struct OpenPolicies {
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
    pub(super) fn new(open: &[Arc<ReadPolicy>], subject: Arc<Subject>) -> Self {
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

    /// `None`: somebody looks at the arguments, and they are no object, or have a member twice. It cannot be judged at
    /// all.
    pub(super) fn evaluate(
        &self,
        circumstances: &Circumstances<'_>,
        found: &mut Evaluated,
    ) -> Option<()> {
        if !self.argued.is_empty() {
            self.evaluate_argued(circumstances, found)?;
        }
        if !self.timed.is_empty() {
            self.evaluate_timed(circumstances, found);
        }
        Some(())
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
        if self.add_said(&asked, found) {
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
    pub(super) fn has(&self, policy: &ReadPolicy) -> bool {
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
            let forbids = |policy: &Policy| policy.effect() == cedar_policy::Effect::Forbid;
            if policies.policy(id).is_some_and(forbids) {
                found.ids.push(id.to_string());
            }
        }
    }

    /// What Cedar answers to each of these, which permit where the answer is yes.
    pub(super) fn ask(&self, questions: &[&Policy]) -> Vec<QuestionAnswer> {
        // What cannot be asked cannot be evaluated either.
        let mut answers = vec![QuestionAnswer::Fails; questions.len()];
        let numbered = questions.iter().enumerate();
        let numbered = numbered.map(|(at, policy)| policy.new_id(PolicyId::new(at.to_string())));
        let set = PolicySet::from_policies(numbered).ok();
        let request = self.request(Context::empty());
        let (Some(set), Some(entities), Some(request)) = (set, &self.entities, request) else {
            return answers;
        };
        let response = Authorizer::new().is_authorized(&request, &set, entities);
        let number = |id: &PolicyId| id.to_string().parse::<usize>().ok();
        let yes: Vec<_> = response.diagnostics().reason().filter_map(number).collect();
        let failed = response.diagnostics().errors().filter_map(|error| {
            let cedar_policy::AuthorizationError::PolicyEvaluationError(error) = error;
            number(error.policy_id())
        });
        let failed: Vec<_> = failed.collect();
        for (at, answer) in answers.iter_mut().enumerate() {
            *answer = match (yes.contains(&at), failed.contains(&at)) {
                (_, true) => QuestionAnswer::Fails,
                (true, false) => QuestionAnswer::Yes,
                (false, false) => QuestionAnswer::No,
            };
        }
        answers
    }

    pub(super) fn parties<'a>(&'a self, answers: &'a [QuestionAnswer]) -> KnownParties<'a> {
        let entity = |uid| self.entities.as_ref().and_then(|entities| entities.get(uid));
        KnownParties { who: entity(&self.who), what: entity(&self.what), answers }
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
    let at = civil(epoch);
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
