//! URI templates (RFC 6570), read backwards: could this URI be an expansion of that template?
//!
//! By hand: libraries expand templates; here the question is whether a URI could be an expansion.

mod parse;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use walk::TemplateReading;

use parse::TemplatePart;
use walk::Positions;

/// More variables in one template, or a longer URI, are not looked at: a read's cost stays bounded
/// whatever a server writes into its templates.
const MOST_VARIABLES: usize = 64;
const LONGEST_URI: usize = 8 * 1024;

/// A template, parsed once and asked often.
#[derive(Debug)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
    /// How many passes over the URI a match takes.
    passes: usize,
}

impl Template {
    /// `None` for what is no template by the RFC, or has too many variables.
    pub(crate) fn compile(text: &str) -> Option<Self> {
        let parts = parse::parts(text)?;
        let variables = parts.iter().map(TemplatePart::variables).sum::<usize>();
        let passes = parts.len() + variables;
        (variables <= MOST_VARIABLES).then_some(Self { parts, passes })
    }

    /// A first look that costs nothing and excludes most.
    pub(crate) fn may_match(&self, uri: &str) -> bool {
        !Self::is_too_long(uri)
            && match self.parts.first() {
                Some(TemplatePart::Literal(text)) => uri.starts_with(text),
                Some(TemplatePart::Expression(_)) => true,
                None => uri.is_empty(),
            }
    }

    /// Is the URI longer than what any template is compared with?
    pub(crate) fn is_too_long(uri: &str) -> bool {
        uri.len() > LONGEST_URI
    }

    /// How much of it is written out: of two templates that fit, the one with more says more about a URI.
    pub(crate) fn literal_bytes(&self) -> usize {
        let literal = |part: &TemplatePart| match part {
            TemplatePart::Literal(text) => text.len(),
            TemplatePart::Expression(_) => 0,
        };
        self.parts.iter().map(literal).sum()
    }

    /// What `matches` may cost at most, in looks at one byte.
    pub(crate) fn steps(&self, uri: &str) -> usize {
        self.passes * (uri.len() + 1)
    }

    /// Each part moves the set of places that the parts before it can have led to. So the time is
    /// the template's length times the URI's, and nothing is tried twice.
    pub(crate) fn matches(&self, uri: &str, reading: TemplateReading) -> bool {
        let mut reach = Positions::start(uri.as_bytes());
        for part in &self.parts {
            if reach.is_empty() {
                return false;
            }
            reach = match part {
                TemplatePart::Literal(text) => reach.literal(text.as_bytes()),
                TemplatePart::Expression(expression) => expression.walk(&reach, reading),
            };
        }
        reach.at_end()
    }
}

/// Could `uri` be an expansion of `template`? `None` for what is no template. Strict: as the RFC has it;
/// otherwise as people and scripts put URIs together.
pub fn template_matches(template: &str, uri: &str, strict: bool) -> Option<bool> {
    let reading = if strict { TemplateReading::Strict } else { TemplateReading::Loose };
    let template = Template::compile(template)?;
    Some(template.may_match(uri) && template.matches(uri, reading))
}
