//! The text of a template cut into literals and expressions (RFC 6570, section 2).

#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplatePart {
    Literal(String),
    Expression(Expression),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) operator: Operator,
    pub(super) variables: Vec<Variable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameters,
    Query,
    QueryMore,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) modifier: Modifier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    /// `{x:3}`: at most so many characters.
    Prefix(u16),
    /// `{x*}`: each item of a list as a value of its own.
    Explode,
}

impl TemplatePart {
    pub(super) fn variables(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Expression(expression) => expression.variables.len(),
        }
    }
}

/// `None` where a brace or what stands between two of them is not by the rules.
pub(super) fn parts(text: &str) -> Option<Vec<TemplatePart>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (literal, after) = match rest.split_once('{') {
            Some((literal, after)) => (literal, Some(after)),
            None => (rest, None),
        };
        if literal.contains('}') {
            return None;
        }
        if !literal.is_empty() {
            parts.push(TemplatePart::Literal(literal.to_owned()));
        }
        rest = match after {
            None => "",
            Some(after) => {
                let (inner, after) = after.split_once('}')?;
                parts.push(TemplatePart::Expression(expression(inner)?));
                after
            }
        };
    }
    Some(parts)
}

fn expression(inner: &str) -> Option<Expression> {
    let (operator, list) = match inner.split_at_checked(1)? {
        ("+", list) => (Operator::Reserved, list),
        ("#", list) => (Operator::Fragment, list),
        (".", list) => (Operator::Label, list),
        ("/", list) => (Operator::Path, list),
        (";", list) => (Operator::Parameters, list),
        ("?", list) => (Operator::Query, list),
        ("&", list) => (Operator::QueryMore, list),
        _ => (Operator::Simple, inner),
    };
    let variables = list.split(',').map(variable).collect::<Option<Vec<_>>>()?;
    Some(Expression { operator, variables })
}

fn variable(text: &str) -> Option<Variable> {
    let (name, modifier) = if let Some(name) = text.strip_suffix('*') {
        (name, Modifier::Explode)
    } else if let Some((name, length)) = text.split_once(':') {
        let length: u16 = length.parse().ok().filter(|length| (1..10_000).contains(length))?;
        (name, Modifier::Prefix(length))
    } else {
        (text, Modifier::None)
    };
    let belongs = |c: char| c.is_alphanumeric() || "_.%-".contains(c);
    let proper = !name.is_empty() && name.chars().all(belongs);
    proper.then(|| Variable { name: name.to_owned(), modifier })
}
