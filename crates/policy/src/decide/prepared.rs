//! `PreparedDecision`: what is left to be decided about one caller, action and target at each call.
//!
//! Everything that is the same for each call was found out before: which policies fit, what those say that do not look
//! at the circumstances, and what is left of the others' conditions.

use std::sync::Arc;

use super::by_cedar::{Evaluated, OpenPolicies, Subject};
use super::{CallerVerdict, Circumstances, RefusalCause};
use crate::condition::{KnownParties, OpenCondition, PolicyContext, QuestionAnswer, Residual};
use crate::looks::Members;
use crate::read::{Effect, ReadPolicy};
use crate::value::members_of;

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

    /// As `decide`, for who does not want to know by which policies.
    pub fn admits(&self, circumstances: &Circumstances<'_>) -> Result<(), RefusalCause> {
        match self.forms.as_slice() {
            [(written, _)] => written.admits(circumstances),
            _ => self.decide(circumstances).map(drop),
        }
    }

    /// Is Cedar asked at each call? Then it takes kilobytes.
    pub fn asks_cedar(&self) -> bool {
        self.forms.iter().any(|(form, _)| form.open.is_some())
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
    /// The policies whose head fits and that may apply, in their order.
    fitting: Vec<(Arc<ReadPolicy>, Applies)>,
    /// What of the arguments is looked at here.
    arguments: Members,
    /// What Cedar is asked at each call; `None`: nothing, or it is prepared for lists.
    open: Option<OpenPolicies>,
}

/// When does a policy whose head fits apply?
#[derive(Clone, Debug)]
enum Applies {
    Always,
    If(Arc<OpenCondition>),
    /// If Cedar says so.
    Asked,
}

/// The policies that fit one form of a target, with what is known about it.
pub(super) struct FittingPolicies<'a, S: Fn(&ReadPolicy) -> bool> {
    /// In their order.
    pub(super) all: Vec<Arc<ReadPolicy>>,
    /// Does it not look at the circumstances?
    pub(super) is_steady: S,
    /// What the steady ones say.
    pub(super) found: &'a Evaluated,
    /// Who is asked about; `None`: nobody has to be.
    pub(super) subject: Option<Arc<Subject>>,
    pub(super) wanted: PreparedFor,
}

impl<S: Fn(&ReadPolicy) -> bool> FittingPolicies<'_, S> {
    pub(super) fn prepared(self) -> PreparedForm {
        let conditions = self.all.iter().filter(|policy| !(self.is_steady)(policy));
        let questions = conditions.filter_map(|policy| policy.condition.as_ref());
        let questions: Vec<_> = questions.flat_map(|condition| &condition.questions).collect();
        let answers = match &self.subject {
            Some(subject) if !questions.is_empty() && self.wanted == PreparedFor::Calls => {
                subject.ask(&questions)
            }
            _ => Vec::new(),
        };
        let mut answers = answers.as_slice();
        let fitting = self
            .all
            .iter()
            .filter_map(|policy| Some((Arc::clone(policy), self.applies(policy, &mut answers)?)));
        let fitting: Vec<_> = fitting.collect();
        let mut arguments = Members::default();
        let mut asked = Vec::new();
        for (policy, applies) in &fitting {
            match applies {
                Applies::Always => {}
                Applies::If(condition) => arguments.join(&condition.looks.arguments),
                Applies::Asked => asked.push(Arc::clone(policy)),
            }
        }
        let is_asked = !asked.is_empty() && self.wanted == PreparedFor::Calls;
        let open = self.subject.filter(|_| is_asked).map(|it| OpenPolicies::new(&asked, it));
        PreparedForm { refused: None, fitting, arguments, open }
    }

    /// `None`: never. `answers`: to the questions of this policy and of those behind it.
    fn applies(&self, policy: &ReadPolicy, answers: &mut &[QuestionAnswer]) -> Option<Applies> {
        if (self.is_steady)(policy) {
            return (policy.is_plain || self.found.has(policy)).then_some(Applies::Always);
        }
        let Some(condition) =
            policy.condition.as_ref().filter(|_| self.wanted == PreparedFor::Calls)
        else {
            return Some(Applies::Asked);
        };
        let (own, rest) = answers.split_at_checked(condition.questions.len()).unwrap_or_default();
        *answers = rest;
        let known = self.subject.as_ref().map(|subject| subject.parties(own));
        match condition.residual(&known.unwrap_or(KnownParties::NOBODY)) {
            None => Some(Applies::Asked),
            Some(Residual::Open(condition)) => Some(Applies::If(condition)),
            Some(Residual::Settled(holds)) => {
                holds.unwrap_or(policy.forbids()).then_some(Applies::Always)
            }
        }
    }
}

impl PreparedForm {
    pub(super) fn refused(cause: RefusalCause) -> Self {
        let arguments = Members::default();
        Self { refused: Some(cause), fitting: Vec::new(), arguments, open: None }
    }

    fn admits(&self, circumstances: &Circumstances<'_>) -> Result<(), RefusalCause> {
        self.judge(circumstances, |permits| match permits.next() {
            Some(_) => Ok(()),
            None => Err(RefusalCause { policies: Vec::new(), reason: None }),
        })
    }

    fn weigh(&self, circumstances: Option<&Circumstances<'_>>) -> CallerVerdict {
        let Some(circumstances) = circumstances else { return self.verdict() };
        let by = self.judge(circumstances, |permits| {
            Ok(permits.map(|policy| Arc::clone(&policy.info.id)).collect::<Vec<_>>())
        });
        match by {
            Ok(by) if by.is_empty() => {
                CallerVerdict::Refused(RefusalCause { policies: Vec::new(), reason: None })
            }
            Ok(by) => CallerVerdict::Allowed(by),
            Err(cause) => CallerVerdict::Refused(cause),
        }
    }

    /// What `then` makes of the policies that permit, if none forbids.
    fn judge<T>(
        &self,
        circumstances: &Circumstances<'_>,
        then: impl FnOnce(&mut dyn Iterator<Item = &Arc<ReadPolicy>>) -> Result<T, RefusalCause>,
    ) -> Result<T, RefusalCause> {
        if let Some(cause) = &self.refused {
            return Err(cause.clone());
        }
        let arguments = match circumstances.arguments {
            given if given.is_empty() || self.arguments.is_empty() => Some(Vec::new()),
            given => members_of(given, &self.arguments).ok(),
        };
        let mut found = Evaluated::default();
        let asked = self.open.as_ref().filter(|_| arguments.is_some());
        let is_asked = asked.map(|open| open.evaluate(circumstances, &mut found));
        // Else the arguments are no object, or have a member twice: it cannot be judged at all.
        let is_readable = arguments.is_some() && is_asked != Some(None);
        let arguments = arguments.unwrap_or_default();
        let context = PolicyContext::new(&arguments, circumstances.now, circumstances.address);
        let applies = |policy: &ReadPolicy, applies: &Applies| match applies {
            Applies::Always => true,
            _ if !is_readable => policy.forbids(),
            Applies::If(condition) => condition.holds(&context).unwrap_or(policy.forbids()),
            Applies::Asked => found.has(policy),
        };
        let those = |effect: Effect| {
            let those = self.fitting.iter().filter(move |(it, _)| it.info.effect == effect);
            those.filter(|(policy, when)| applies(policy, when)).map(|(policy, _)| policy)
        };
        let forbids: Vec<_> = those(Effect::Forbid).collect();
        match forbids.as_slice() {
            [] => then(&mut those(Effect::Permit)),
            _ => Err(RefusalCause::by(forbids.into_iter())),
        }
    }

    /// As far as it holds in all circumstances.
    fn verdict(&self) -> CallerVerdict {
        if let Some(cause) = &self.refused {
            return CallerVerdict::Refused(cause.clone());
        }
        let those = |effect: Effect, is_open: bool| {
            let those = self.fitting.iter().filter(move |(policy, applies)| {
                policy.info.effect == effect && matches!(applies, Applies::Always) != is_open
            });
            those.map(|(policy, _)| policy)
        };
        if those(Effect::Forbid, false).next().is_some() {
            return CallerVerdict::Refused(RefusalCause::by(those(Effect::Forbid, false)));
        }
        let permits: Vec<_> =
            those(Effect::Permit, false).map(|policy| Arc::clone(&policy.info.id)).collect();
        let is_open = |effect| those(effect, true).next().is_some();
        match permits.is_empty() {
            _ if is_open(Effect::Forbid) => CallerVerdict::Depends,
            true if is_open(Effect::Permit) => CallerVerdict::Depends,
            true => CallerVerdict::Refused(RefusalCause { policies: Vec::new(), reason: None }),
            false => CallerVerdict::Allowed(permits),
        }
    }
}
