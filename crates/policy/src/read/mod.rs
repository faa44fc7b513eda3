//! Texts of policies -> `Policies`: parsed, named and validated as a whole, or what is wrong with them.

mod bounds;
mod open_record;

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Formatter};
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::Arc;

use cedar_policy::{
    ActionConstraint, Policy, PolicyId, PolicySet, PrincipalConstraint, ResourceConstraint,
    ValidationMode,
};
use miette::Diagnostic;
use serde_json::Value;

use crate::condition::Condition;
use crate::looks::Looks;
use crate::schema::{Action, VOCABULARY};
use crate::scope::fits_action;
use open_record::{uses_variable, without_open_records};

/// Texts are read by recursion, in Cedar and by serde: twenty `&&` in a row need more than a usual stack in a debug build, and
/// an overflow ends the process. Pages that are not used cost nothing.
const STACK: usize = 256 << 20;

/// A text with policies: a file, or a record of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySource {
    /// How people find it: a path, or the id of a record.
    pub name: String,
    pub text: String,
}

/// Every policy there is. Never changed, only replaced.
#[derive(Debug, Default)]
pub struct Policies {
    pub(crate) all: Vec<Arc<ReadPolicy>>,
    /// Nobody has written any, so that nothing is refused.
    pub(crate) is_open: bool,
}

#[derive(Debug)]
pub(crate) struct ReadPolicy {
    pub(crate) info: PolicyInfo,
    pub(crate) policy: Policy,
    pub(crate) principal: PrincipalConstraint,
    pub(crate) action: ActionConstraint,
    pub(crate) resource: ResourceConstraint,
    /// Is there nothing but the head?
    pub(crate) is_plain: bool,
    pub(crate) looks: Looks,
    /// Its conditions, if they look at `context`. `None`: they do not, or Cedar has to evaluate them.
    pub(crate) condition: Option<Condition>,
    /// Known of policies that forbid any action with any resource; else false.
    pub(crate) uses_resource: bool,
    pub(crate) uses_action: bool,
}

impl ReadPolicy {
    pub(crate) fn forbids(&self) -> bool {
        self.info.effect == Effect::Forbid
    }
}

/// What is shown of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyInfo {
    /// Its `@id`, or its source and its number there.
    pub id: Arc<str>,
    pub effect: Effect,
    /// Its `@reason`: what a caller is told that it refuses.
    pub reason: Option<Arc<str>>,
    pub source: Arc<str>,
    pub line: usize,
    pub text: Arc<str>,
    /// It looks at the circumstances of a call, which is then decided anew each time.
    pub uses_context: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Permit,
    Forbid,
}

impl Effect {
    pub fn name(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Forbid => "forbid",
        }
    }
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    pub source: String,
    /// From 1.
    pub line: usize,
    pub what: String,
}

impl Display for PolicyFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.what)
    }
}

impl Policies {
    /// There is no text at all: everything is allowed. A text without a policy allows nothing.
    pub fn none() -> Self {
        Self { all: Vec::new(), is_open: true }
    }

    /// All texts together, or everything that is wrong with them.
    pub fn read(sources: &[PolicySource]) -> Result<Self, Vec<PolicyFault>> {
        std::thread::scope(|scope| {
            let reader = std::thread::Builder::new().name("policies".to_owned()).stack_size(STACK);
            match reader.spawn_scoped(scope, || Self::read_here(sources)) {
                Ok(reading) => reading.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The system has no room for another thread: most policies need no such stack.
                Err(_) => Self::read_here(sources),
            }
        })
    }

    fn read_here(sources: &[PolicySource]) -> Result<Self, Vec<PolicyFault>> {
        let (mut all, mut faults) = (Vec::new(), Vec::new());
        for source in sources {
            match read_source(source) {
                Ok(read) => all.extend(read),
                Err(wrong) => faults.extend(wrong),
            }
        }
        let mut known: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        for policy in &all {
            let PolicyInfo { id, source, line, .. } = &policy.info;
            if let Some(other) = known.insert(Arc::clone(id), Arc::clone(source)) {
                let what = format!("the id `{id}` is taken by a policy of {other}");
                faults.push(PolicyFault { source: source.to_string(), line: *line, what });
            }
        }
        match faults.is_empty() {
            true => Ok(Self { all: all.into_iter().map(Arc::new).collect(), is_open: false }),
            false => Err(faults),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Has nobody written any, so that nothing is refused? A text without a policy is another matter.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The policies with these ids.
    pub fn named(&self, ids: &[Arc<str>]) -> Vec<PolicyInfo> {
        self.infos().filter(|info| ids.contains(&info.id)).cloned().collect()
    }

    /// In the order in which they were read.
    pub fn infos(&self) -> impl Iterator<Item = &PolicyInfo> {
        self.all.iter().map(|policy| &policy.info)
    }

    /// The actions that no policy permits to anybody: Cedar refuses what nothing permits.
    pub fn never_permitted(&self) -> Vec<Action> {
        let is_permitted = |action| {
            if self.is_open {
                return true;
            }
            let permits = self.all.iter().filter(|policy| policy.info.effect == Effect::Permit);
            permits.into_iter().any(|policy| fits_action(&policy.action, action))
        };
        Action::ALL.into_iter().filter(|action| !is_permitted(*action)).collect()
    }
}

fn read_source(source: &PolicySource) -> Result<Vec<ReadPolicy>, Vec<PolicyFault>> {
    let fault = |line, what| PolicyFault { source: source.name.clone(), line, what };
    if let Some((line, what)) = bounds::beyond(&source.text) {
        return Err(vec![fault(line, what)]);
    }
    let set = PolicySet::from_str(&source.text).map_err(|errors| {
        let told =
            |error: &dyn Diagnostic| fault(line_of(&source.text, error).unwrap_or(1), words(error));
        errors.iter().map(|error| told(error)).collect::<Vec<_>>()
    })?;
    if set.num_of_templates() > 0 {
        return Err(vec![fault(
            1,
            "templates (`?principal`, `?resource`) cannot be used here".to_owned(),
        )]);
    }
    let mut policies: BTreeMap<usize, Policy> = BTreeMap::new();
    for policy in set.policies() {
        policies.insert(number(policy.id()), policy.clone());
    }
    let (mut read, mut faults, mut from) = (Vec::new(), Vec::new(), 0);
    for (at, policy) in policies.into_values().enumerate() {
        let text = policy.to_cedar().unwrap_or_default();
        let start =
            source.text.get(from..).and_then(|rest| rest.find(&text)).map_or(from, |at| from + at);
        from = start + text.len();
        let line = line_at(&source.text, start);
        match read_policy(&policy, source, (at, line, text)) {
            Ok(policy) => read.push(policy),
            Err(wrong) => {
                faults.extend(wrong.into_iter().map(|(at, what)| fault(at.unwrap_or(line), what)));
            }
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

type Wrong = Vec<(Option<usize>, String)>;

fn read_policy(
    policy: &Policy,
    source: &PolicySource,
    (at, line, text): (usize, usize, String),
) -> Result<ReadPolicy, Wrong> {
    let json = match needs_json(policy, &text) {
        true => policy.to_json().map_err(|error| vec![(None, error.to_string())])?,
        false => Value::Null,
    };
    let annotation =
        |name: &str| policy.annotations().find(|(known, _)| *known == name).map(|(_, text)| text);
    validate(policy, &json, &source.text)?;
    let id = match annotation("id") {
        Some("") => return Err(vec![(None, "`@id` is empty".to_owned())]),
        Some(id) => id.to_owned(),
        None => format!("{}#{}", source.name, at + 1),
    };
    let info = PolicyInfo {
        id: id.as_str().into(),
        effect: match policy.effect() {
            cedar_policy::Effect::Permit => Effect::Permit,
            cedar_policy::Effect::Forbid => Effect::Forbid,
        },
        reason: annotation("reason").filter(|reason| !reason.is_empty()).map(Into::into),
        source: source.name.as_str().into(),
        line,
        text: text.into(),
        uses_context: uses_variable(&json, "context"),
    };
    Ok(ReadPolicy {
        principal: policy.principal_constraint(),
        action: policy.action_constraint(),
        resource: policy.resource_constraint(),
        is_plain: !policy.has_non_scope_constraint(),
        looks: Looks::of(&json),
        condition: info.uses_context.then(|| Condition::read(&json)).flatten(),
        uses_resource: uses_variable(&json, "resource"),
        uses_action: uses_variable(&json, "action"),
        policy: policy.new_id(PolicyId::new(id)),
        info,
    })
}

/// Is there anything in it that is read from its JSON form? Cedar parses the text again for that, which takes as long as
/// the rest together.
fn needs_json(policy: &Policy, text: &str) -> bool {
    // An attribute may be written with escapes.
    let words = ["context", "claims", "\\"];
    let forbids_all = policy.effect() == cedar_policy::Effect::Forbid
        && policy.action_constraint() == ActionConstraint::Any
        && policy.resource_constraint() == ResourceConstraint::Any;
    policy.has_non_scope_constraint()
        && (forbids_all || text.is_empty() || words.iter().any(|word| text.contains(word)))
}

/// Everything that the validator holds against it, each with its line if the text is still the author's.
fn validate(policy: &Policy, json: &Value, text: &str) -> Result<(), Wrong> {
    let plain = |error: &dyn Display| vec![(None, error.to_string())];
    let masked = match without_open_records(json) {
        None => None,
        Some(masked) => Some(
            Policy::from_json(Some(policy.id().clone()), masked).map_err(|error| plain(&error))?,
        ),
    };
    let is_own_text = masked.is_none();
    let set = PolicySet::from_policies([masked.unwrap_or_else(|| policy.clone())]);
    let set = set.map_err(|error| plain(&error))?;
    let vocabulary = VOCABULARY.as_ref().ok_or_else(|| plain(&"there is no schema"))?;
    let checked = vocabulary.validator.validate(&set, ValidationMode::Strict);
    let told = |error: &cedar_policy::ValidationError| {
        (line_of(text, error).filter(|_| is_own_text), words(error))
    };
    let wrong: Wrong = checked.validation_errors().map(told).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What the parser or the validator says, with its advice.
fn words(error: &dyn Diagnostic) -> String {
    // The policy's number is of no use to somebody who has the line.
    let said = error.to_string();
    let said = match said.strip_prefix("for policy `").and_then(|rest| rest.split_once("`, ")) {
        Some((_, rest)) => rest.to_owned(),
        None => said,
    };
    match error.help() {
        Some(help) => format!("{said}; {help}"),
        None => said,
    }
}

fn line_of(text: &str, error: &dyn Diagnostic) -> Option<usize> {
    let label = error.labels()?.next()?;
    Some(line_at(text, label.offset()))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The parser names the policies of a text `policy0`, `policy1` and so on.
fn number(id: &PolicyId) -> usize {
    id.to_string().strip_prefix("policy").and_then(|number| number.parse().ok()).unwrap_or(0)
}
