//! The rules, read once from `rules.json`: what they match, how bad that is, and why.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::jsonc::{Dialect, HalfPairs, Node, Options, Value, parse};
use crate::scan::finding::Severity;
use crate::scan::phrases::{ConceptPlace, ConceptSet, Phrases};

/// One rule, as whoever meets a finding needs to know it.
#[derive(Debug, PartialEq, Eq)]
pub struct ScanRule {
    pub id: String,
    /// What a finding by this rule alone is.
    pub severity: Severity,
    /// What it adds to the sum of a definition's signs.
    pub points: u32,
    /// Why it matters, in one sentence.
    pub reason: String,
    /// What its author or its user can do about it.
    pub mend: String,
    pub(super) test: RuleTest,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleTest {
    /// Code looks for it.
    Detector,
    /// The text has one of these, whatever the case.
    Contains(Vec<String>),
    /// One concept of each set is said within the scope, and none of `none`.
    Says { scope: RuleScope, places: u8, all: Vec<ConceptSet>, none: ConceptSet },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleScope {
    Sentence,
    /// A sentence and its neighbours.
    Near,
}

/// What a text of a definition is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldRole {
    Description = 1,
    Parameter = 2,
    Instructions = 4,
    Name = 8,
}

pub(super) struct RuleSet {
    pub(super) rules: Vec<ScanRule>,
    by_id: HashMap<String, usize>,
    pub(super) phrases: Phrases,
    pub(super) secret_paths: Vec<String>,
    pub(super) secret_path_bit: ConceptSet,
    pub(super) likeness: LikenessScale,
    pub(super) medium: u32,
    pub(super) high: u32,
}

/// From which score on a text is like those that lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct LikenessScale {
    pub(super) bias: i32,
    pub(super) some: i32,
    pub(super) much: i32,
}

static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::read(include_str!("rules.json")));

pub(super) fn rule_set() -> &'static RuleSet {
    &RULES
}

/// Every rule there is.
pub fn rules() -> &'static [ScanRule] {
    &RULES.rules
}

/// The rule of this id.
pub fn rule(id: &str) -> Option<&'static ScanRule> {
    RULES.by_id.get(id).and_then(|at| RULES.rules.get(*at))
}

impl RuleSet {
    /// A part that cannot be read is left out; a test reads every part.
    fn read(text: &str) -> Self {
        let options =
            Options { dialect: Dialect::Strict, half_pairs: HalfPairs::Refused, depth: 8 };
        let mut set = Self {
            rules: Vec::new(),
            by_id: HashMap::new(),
            phrases: Phrases::default(),
            secret_paths: Vec::new(),
            secret_path_bit: 0,
            likeness: LikenessScale { bias: 0, some: i32::MAX, much: i32::MAX },
            medium: u32::MAX,
            high: u32::MAX,
        };
        let Ok(document) = parse(text, options) else { return set };
        let root = document.root;
        let mut bits = HashMap::new();
        for (name, node) in object(member(&root, "concepts")) {
            let place = ConceptPlace { not_first: flag(node, "notFirst") };
            let concept = set.phrases.concept(place);
            for phrase in texts(member(node, "phrases")) {
                set.phrases.add(concept, phrase);
            }
            bits.insert(name.to_owned(), 1_u128.checked_shl(concept).unwrap_or_default());
        }
        set.secret_paths = texts(member(&root, "secretPaths")).map(str::to_owned).collect();
        set.secret_path_bit = bits.get("secret-path").copied().unwrap_or_default();
        let scale = member(&root, "likeness");
        let part = |key| scale.and_then(|scale| signed(member(scale, key)));
        if let (Some(bias), Some(some), Some(much)) = (part("bias"), part("some"), part("much")) {
            set.likeness = LikenessScale { bias, some, much };
        }
        set.medium = number(member(&root, "mediumFrom")).unwrap_or(u32::MAX);
        set.high = number(member(&root, "highFrom")).unwrap_or(u32::MAX);
        for node in array(member(&root, "rules")) {
            if let Some(rule) = read_rule(node, &bits) {
                set.by_id.insert(rule.id.clone(), set.rules.len());
                set.rules.push(rule);
            }
        }
        set
    }
}

fn read_rule(node: &Node, bits: &HashMap<String, ConceptSet>) -> Option<ScanRule> {
    let own = |key| string(member(node, key));
    let test = if let Some(contains) = member(node, "contains") {
        RuleTest::Contains(texts(Some(contains)).map(str::to_lowercase).collect())
    } else if member(node, "all").is_some() {
        let set = |names: &str| {
            let mut sets = names.split('|').map(|name| bits.get(name).copied());
            sets.try_fold(0, |sum, bit| Some(sum | bit?))
        };
        let all: Option<Vec<_>> = texts(member(node, "all")).map(set).collect();
        let none: Option<Vec<_>> = texts(member(node, "none")).map(set).collect();
        let scope = match own("scope") {
            Some("near") => RuleScope::Near,
            _ => RuleScope::Sentence,
        };
        let places = texts(member(node, "in")).fold(0, |sum, place| sum | role(place));
        let places = if places == 0 { u8::MAX } else { places };
        RuleTest::Says { scope, places, all: all?, none: none?.into_iter().fold(0, |a, b| a | b) }
    } else {
        RuleTest::Detector
    };
    Some(ScanRule {
        id: own("id")?.to_owned(),
        severity: Severity::read(own("severity")?)?,
        points: number(member(node, "points")).unwrap_or_default(),
        reason: own("reason")?.to_owned(),
        mend: own("mend")?.to_owned(),
        test,
    })
}

fn role(place: &str) -> u8 {
    match place {
        "description" => FieldRole::Description as u8,
        "parameter" => FieldRole::Parameter as u8,
        "instructions" => FieldRole::Instructions as u8,
        _ => FieldRole::Name as u8,
    }
}

fn member<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    object(Some(node)).find(|(name, _)| *name == key).map(|(_, value)| value)
}

fn object(node: Option<&Node>) -> impl Iterator<Item = (&str, &Node)> {
    let members = match node.map(|node| &node.value) {
        Some(Value::Object(members)) => members.as_slice(),
        _ => &[],
    };
    members.iter().map(|member| (member.key.value.as_str(), &member.value))
}

fn array(node: Option<&Node>) -> impl Iterator<Item = &Node> {
    match node.map(|node| &node.value) {
        Some(Value::Array(items)) => items.iter(),
        _ => [].iter(),
    }
}

fn texts(node: Option<&Node>) -> impl Iterator<Item = &str> {
    array(node).filter_map(|item| string(Some(item)))
}

fn string(node: Option<&Node>) -> Option<&str> {
    match &node?.value {
        Value::String(text) => Some(text.value.as_str()),
        _ => None,
    }
}

fn number(node: Option<&Node>) -> Option<u32> {
    match &node?.value {
        Value::Number(number) => number.parse().ok(),
        _ => None,
    }
}

fn signed(node: Option<&Node>) -> Option<i32> {
    match &node?.value {
        Value::Number(number) => number.parse().ok(),
        _ => None,
    }
}

fn flag(node: &Node, key: &str) -> bool {
    matches!(member(node, key).map(|node| &node.value), Some(Value::Bool(true)))
}
