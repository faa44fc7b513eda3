//! One definition: every text in it is looked at, and what was found is weighed together.

use crate::scan::ScanContext;
use crate::scan::decode::encoded_texts;
use crate::scan::fields::{DefinitionField, each_text};
use crate::scan::finding::{Confidence, Finding, ItemKind, Severity, excerpt};
use crate::scan::fold::is_mixed;
use crate::scan::hidden::hidden;
use crate::scan::likeness::likeness;
use crate::scan::phrases::ConceptSet;
use crate::scan::rules::{FieldRole, RuleSet, RuleTest, ScanRule, rule, rule_set};
use crate::scan::sentences::{SentenceMarks, holds};
use crate::scan::tokens::{TokenBuffer, shape};

/// Values of a schema that are no words for a model.
const NO_WORDS: [&str; 12] = [
    "type",
    "format",
    "$ref",
    "$schema",
    "$id",
    "pattern",
    "contentEncoding",
    "uri",
    "uriTemplate",
    "mimeType",
    "src",
    "required",
];

/// Where a rule held first.
struct Hit {
    rule: &'static ScanRule,
    pointer: String,
    excerpt: String,
}

pub(super) struct ItemScan<'c> {
    kind: ItemKind,
    name: &'c str,
    context: &'c ScanContext,
    rules: &'static RuleSet,
    params: Vec<String>,
    tokens: TokenBuffer,
    masks: Vec<ConceptSet>,
    hits: Vec<Hit>,
}

/// One text, and what it is for.
struct ItemText<'t> {
    role: FieldRole,
    /// The parameter that it describes.
    of: Option<&'t str>,
    text: &'t str,
}

impl<'c> ItemScan<'c> {
    pub(super) fn new(kind: ItemKind, name: &'c str, context: &'c ScanContext) -> Self {
        Self {
            kind,
            name,
            context,
            rules: rule_set(),
            params: Vec::new(),
            tokens: TokenBuffer::default(),
            masks: Vec::new(),
            hits: Vec::new(),
        }
    }

    pub(super) fn definition(&mut self, definition: &[u8]) {
        let mut params = Vec::new();
        each_text(definition, |field| {
            if is_property(&field) && params.len() < 256 {
                params.push(field.text.to_lowercase());
            }
        });
        self.params = params;
        each_text(definition, |field| self.field(&field));
    }

    /// A text that is no part of a definition.
    pub(super) fn text(&mut self, pointer: &str, text: &str) {
        let text = ItemText { role: FieldRole::Instructions, of: None, text };
        self.look(&text, &|| pointer.to_owned());
    }

    fn field(&mut self, field: &DefinitionField<'_, '_>) {
        let pointer = || field.pointer();
        if field.is_key {
            if is_property(field) {
                let text = ItemText { role: FieldRole::Parameter, of: Some(&field.text), text: "" };
                self.look(&text, &pointer);
                self.hidden(&field.text, &pointer);
            }
            return;
        }
        let key = field.key_before(0).or_else(|| field.key_before(1)).unwrap_or_default();
        if matches!(field.first_key(), "name") {
            self.own_name(&field.text, &pointer);
            // Those of resources and templates are sentences as well: a URI is what they are called by.
            if !matches!(self.kind, ItemKind::Resource | ItemKind::Template) {
                return;
            }
        }
        if NO_WORDS.contains(&key) || matches!(field.first_key(), "icons" | "uri" | "uriTemplate") {
            return self.hidden(&field.text, &pointer);
        }
        let role = match field.first_key() {
            "inputSchema" | "outputSchema" | "arguments" => FieldRole::Parameter,
            _ => FieldRole::Description,
        };
        let of = match key {
            "description" | "title" => field.key_before(1).filter(|_| role == FieldRole::Parameter),
            _ => None,
        };
        self.look(&ItemText { role, of, text: &field.text }, &pointer);
    }

    fn own_name(&mut self, name: &str, pointer: &dyn Fn() -> String) {
        if is_mixed(name) || name.chars().any(is_compatible_letter) {
            self.hit("look-alike-letters", name, pointer);
        }
    }

    fn look(&mut self, text: &ItemText<'_>, pointer: &dyn Fn() -> String) {
        self.hidden(text.text, pointer);
        self.contains(text.text, pointer);
        self.words(text, pointer);
        self.likeness(text, pointer);
        if text.text.len() >= 16 {
            self.decoded(text.text, pointer);
        }
    }

    fn hidden(&mut self, text: &str, pointer: &dyn Fn() -> String) {
        let mut found = Vec::new();
        hidden(text, &mut found);
        for (id, at) in found {
            self.hit(id, around(text, at), pointer);
        }
    }

    fn contains(&mut self, text: &str, pointer: &dyn Fn() -> String) {
        // Every mark has one of these; most texts have none of them.
        if !text.contains(['<', '[', ':', '|', '-', '"', '~', '/']) && !text.contains("777") {
            return;
        }
        let lower = text.to_ascii_lowercase();
        for rule in &self.rules.rules {
            let RuleTest::Contains(marks) = &rule.test else { continue };
            let at = marks.iter().find_map(|mark| lower.find(mark.as_str()));
            if let Some(at) = at {
                self.hit_rule(rule, around(text, at), pointer);
            }
        }
    }

    fn words(&mut self, text: &ItemText<'_>, pointer: &dyn Fn() -> String) {
        match text.of {
            Some(name) => self.tokens.cut_named(name, text.text),
            None => self.tokens.cut(text.text),
        }
        let mut bits = self.shapes();
        let has_lead = text.role == FieldRole::Description;
        self.rules.phrases.mark(&self.tokens, has_lead, &mut self.masks);
        if let Some(at) = bits.mixed.take() {
            self.hit("mixed-script-word", around(text.text, at), pointer);
        }
        for sentence in bits.secret_paths {
            if let Some(mask) = self.masks.get_mut(sentence) {
                *mask |= self.rules.secret_path_bit;
            }
        }
        let said = SentenceMarks { role: text.role, sentences: &self.masks };
        let held = self.rules.rules.iter();
        let held: Vec<_> =
            held.filter_map(|rule| Some((rule, holds(&rule.test, &said)?))).collect();
        for (rule, sentence) in held {
            let (start, end) = self.tokens.span_of(sentence);
            let place = text.text.get(start..end).filter(|place| !place.is_empty());
            self.hit_rule(rule, place.or(text.of).unwrap_or_default(), pointer);
        }
    }

    fn likeness(&mut self, text: &ItemText<'_>, pointer: &dyn Fn() -> String) {
        let scale = self.rules.likeness;
        let has_lead = text.role == FieldRole::Description;
        let Some(like) = likeness(text.text, has_lead, scale.bias) else { return };
        if like.score >= scale.much && like.is_sure {
            self.hit("reads-like-a-lie", text.text, pointer);
        } else if like.score >= scale.some {
            self.hit("reads-somewhat-like-a-lie", text.text, pointer);
        }
    }

    /// Tells the tokens which of them are names that are known here.
    fn shapes(&mut self) -> Shapes {
        let mut found = Shapes::default();
        for at in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(at) else { continue };
            if token.shape & shape::MIXED != 0 {
                found.mixed.get_or_insert(token.start);
            }
            if token.shape & shape::PATH != 0
                && self.rules.secret_paths.iter().any(|path| token.text.contains(path.as_str()))
            {
                found.secret_paths.push(token.sentence);
            }
            let is_name = token.shape & (shape::NAME | shape::QUOTED) != 0;
            let mut more = 0;
            if is_name && self.params.iter().any(|param| param == token.text) {
                more |= shape::PARAM;
            }
            if self.context.own.contains(token.text) || self.name.eq_ignore_ascii_case(token.text) {
                more |= shape::OWN_TOOL;
            } else if is_name && self.context.others.contains(token.text) {
                more |= shape::OTHER_TOOL;
            } else if token.shape & shape::NAME != 0 && more == 0 && token.text.contains('_') {
                more |= shape::FOREIGN;
            }
            if more != 0 {
                self.tokens.add_shape(at, more);
            }
        }
        found
    }

    /// What is written in another way is read as instructions.
    fn decoded(&mut self, text: &str, pointer: &dyn Fn() -> String) {
        for decoded in encoded_texts(text) {
            let before = self.hits.len();
            let text = ItemText { role: FieldRole::Instructions, of: None, text: &decoded };
            self.words(&text, pointer);
            let says_something = self.hits.iter().skip(before).any(|hit| hit.rule.points > 8);
            let id = if says_something { "encoded-instructions" } else { "encoded-text" };
            self.hit(id, &decoded, pointer);
        }
    }

    fn hit(&mut self, id: &str, place: &str, pointer: &dyn Fn() -> String) {
        if let Some(rule) = rule(id) {
            self.hit_rule(rule, place, pointer);
        }
    }

    fn hit_rule(&mut self, rule: &'static ScanRule, place: &str, pointer: &dyn Fn() -> String) {
        if self.hits.iter().all(|hit| !std::ptr::eq(hit.rule, rule)) {
            self.hits.push(Hit { rule, pointer: pointer(), excerpt: excerpt(place) });
        }
    }

    /// What was found, the worst first.
    pub(super) fn finish(self) -> Vec<Finding> {
        let sum = self.hits.iter().map(|hit| hit.rule.points).sum::<u32>();
        let combined = if sum >= self.rules.high {
            Some(Severity::High)
        } else {
            (sum >= self.rules.medium).then_some(Severity::Medium)
        };
        let alone = self.hits.iter().map(|hit| hit.rule.severity).max();
        let heaviest = self.hits.iter().max_by_key(|hit| hit.rule.points);
        let signs = || self.hits.iter().map(|hit| hit.rule.id.as_str()).collect::<Vec<_>>();
        let sum_finding = match (combined, rule("combined-signs"), heaviest) {
            (Some(severity), Some(rule), Some(hit)) if Some(severity) > alone => {
                Some(self.finding(rule, (severity, Confidence::Combined), hit, signs()))
            }
            _ => None,
        };
        let own = |hit: &Hit| {
            let sure = (hit.rule.severity, Confidence::Rule);
            self.finding(hit.rule, sure, hit, Vec::new())
        };
        let mut findings: Vec<Finding> =
            sum_finding.into_iter().chain(self.hits.iter().map(own)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        findings
    }

    fn finding(
        &self,
        rule: &'static ScanRule,
        (severity, confidence): (Severity, Confidence),
        hit: &Hit,
        signs: Vec<&'static str>,
    ) -> Finding {
        Finding {
            rule,
            severity,
            confidence,
            kind: self.kind,
            item: self.name.to_owned(),
            pointer: hit.pointer.clone(),
            excerpt: hit.excerpt.clone(),
            signs,
        }
    }
}

#[derive(Default)]
struct Shapes {
    mixed: Option<usize>,
    /// The sentences that name a file of secrets.
    secret_paths: Vec<usize>,
}

fn is_property(field: &DefinitionField<'_, '_>) -> bool {
    field.is_key && field.key_before(1) == Some("properties")
}

/// Full-width and mathematical letters: no name needs them.
fn is_compatible_letter(c: char) -> bool {
    matches!(c, '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{212e}')
}

/// The text around a place, as far as an excerpt shows it.
fn around(text: &str, at: usize) -> &str {
    let mut start = at.saturating_sub(60);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = (at + 160).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    text.get(start..end).unwrap_or_default()
}
