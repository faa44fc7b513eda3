//! Cedar's JSON form of a policy -> `Condition`, or nothing if there is anything in it that is not known here.

use std::sync::Arc;

use cedar_policy::{Policy, PolicyId};
use serde_json::{Value, json};

use super::address::AddressRange;
use super::constant::{Constant, Scalar};
use super::pattern::Pattern;
use super::{BinaryOperator, Condition, Expression, NowPart, OpenCondition, Party, UnaryOperator};

/// Levels of JSON, of which an operator takes two. Conditions are evaluated by recursion, on threads with small stacks.
const DEEPEST: usize = 120;

impl Condition {
    /// `None`: Cedar has to decide about it.
    pub(crate) fn read(policy: &Value) -> Option<Self> {
        let conditions = policy.get("conditions")?;
        // Each clause is one level more of what they become together.
        let clauses = conditions.as_array()?.len();
        if depth(conditions) + 2 * clauses > DEEPEST {
            return None;
        }
        let mut reader = ConditionReader { policy, questions: Vec::new() };
        let mut all = Vec::new();
        for condition in conditions.as_array()? {
            let body = reader.truth(condition.get("body")?)?;
            all.push(match condition.get("kind")?.as_str()? {
                "when" => body,
                "unless" => Expression::Unary(UnaryOperator::Not, Box::new(body)),
                _ => return None,
            });
        }
        let last = all.pop()?;
        let and = |all, one| Expression::binary(BinaryOperator::And, one, all);
        let expression = all.into_iter().rev().fold(last, and);
        let is_asking = expression.is_asking();
        let open = Arc::new(OpenCondition::new(expression));
        Some(Self { open, questions: reader.questions, is_asking })
    }
}

struct ConditionReader<'p> {
    policy: &'p Value,
    questions: Vec<Policy>,
}

impl ConditionReader<'_> {
    /// Where Cedar wants a truth value. What does not look at `context` is a question.
    fn truth(&mut self, json: &Value) -> Option<Expression> {
        if let Some(constant) = literal(json) {
            return Some(Expression::Constant(constant));
        }
        if !mentions_context(json) {
            return self.question(json);
        }
        let (operator, operands) = operation(json)?;
        Some(match operator {
            "&&" | "||" => {
                let operator =
                    if operator == "&&" { BinaryOperator::And } else { BinaryOperator::Or };
                let left = self.truth(operands.get("left")?)?;
                Expression::binary(operator, left, self.truth(operands.get("right")?)?)
            }
            "!" => {
                let operand = self.truth(operands.get("arg")?)?;
                Expression::Unary(UnaryOperator::Not, Box::new(operand))
            }
            "if-then-else" => {
                let mut branch = |name| self.truth(operands.get(name)?);
                Expression::If(Box::new([branch("if")?, branch("then")?, branch("else")?]))
            }
            _ => return self.value(json),
        })
    }

    fn value(&mut self, json: &Value) -> Option<Expression> {
        if let Some(constant) = literal(json) {
            return Some(Expression::Constant(constant));
        }
        let (operator, operands) = operation(json)?;
        Some(match operator {
            "&&" | "||" | "!" => return self.truth(json),
            "if-then-else" => {
                let condition = self.truth(operands.get("if")?)?;
                let mut branch = |name| self.value(operands.get(name)?);
                Expression::If(Box::new([condition, branch("then")?, branch("else")?]))
            }
            "." => return self.attribute(operands),
            _ if !mentions_context(json) => {
                let is_truth = matches!(operator, "in" | "is" | "has" | "like" | "isEmpty")
                    || binary_operator(operator).is_some_and(|it| !it.is_arithmetic());
                if is_truth {
                    return self.question(json);
                }
                return self.operation(operator, operands);
            }
            "has" => return self.has(operands),
            _ => return self.operation(operator, operands),
        })
    }

    fn operation(&mut self, operator: &str, operands: &Value) -> Option<Expression> {
        if let Some(operator) = binary_operator(operator) {
            let left = self.value(operands.get("left")?)?;
            let right = self.value(operands.get("right")?)?;
            let is_long = operator.compares() && left.may_be_large() && right.may_be_large();
            return (!is_long).then(|| Expression::binary(operator, left, right));
        }
        if let Some(operator) = address_test(operator) {
            let [operand] = operands.as_array()?.as_slice() else { return None };
            return Some(Expression::Unary(operator, Box::new(self.value(operand)?)));
        }
        Some(match operator {
            "like" => {
                let text = self.value(operands.get("left")?)?;
                Expression::Like(Box::new(text), Pattern::read(operands.get("pattern")?)?)
            }
            "neg" | "isEmpty" => {
                let of = Box::new(self.value(operands.get("arg")?)?);
                let negate = operator == "neg";
                let operator = if negate { UnaryOperator::Negate } else { UnaryOperator::IsEmpty };
                Expression::Unary(operator, of)
            }
            "isInRange" => {
                // Of several ranges, and of none, Cedar says that this is an error.
                let [one, range] = operands.as_array()?.as_slice() else { return None };
                Expression::IsInRange(Box::new([self.value(one)?, self.value(range)?]))
            }
            _ => return None,
        })
    }

    /// `LEFT.NAME`
    fn attribute(&mut self, operands: &Value) -> Option<Expression> {
        let (left, name) = (operands.get("left")?, operands.get("attr")?.as_str()?);
        if is_variable(left, "context") {
            return (name == "address").then_some(Expression::Address);
        }
        if is_of_context(left, "now") {
            return NowPart::named(name).map(Expression::Now);
        }
        let left = self.holder(left)?;
        Some(match left {
            Expression::Attribute(party, path) => {
                let path = path.iter().map(|it| &**it).chain([name]);
                Expression::Attribute(party, path.map(Into::into).collect())
            }
            left => Expression::Get(Box::new(left), name.into()),
        })
    }

    /// What has attributes.
    fn holder(&mut self, json: &Value) -> Option<Expression> {
        let party = [("principal", Party::Principal), ("resource", Party::Resource)];
        let party = party.into_iter().find(|(name, _)| is_variable(json, name));
        match party {
            Some((_, party)) => Some(Expression::Attribute(party, Box::default())),
            None if is_of_context(json, "arguments") => Some(Expression::Arguments),
            None => self.value(json),
        }
    }

    /// `LEFT has NAME`, `LEFT has NAME.NAME`
    fn has(&mut self, operands: &Value) -> Option<Expression> {
        let left = operands.get("left")?;
        let path: Box<[Box<str>]> = match operands.get("attr")? {
            Value::String(name) => Box::new([name.as_str().into()]),
            names => {
                let names = names.as_array()?.iter().map(|name| Some(name.as_str()?.into()));
                names.collect::<Option<_>>()?
            }
        };
        let always = |is_there: bool| (path.len() == 1 && is_there).then_some(Expression::TRUE);
        let name = &**path.first()?;
        if is_variable(left, "context") {
            return always(matches!(name, "arguments" | "now" | "address"));
        }
        if is_of_context(left, "now") {
            return always(NowPart::named(name).is_some());
        }
        Some(Expression::Has(Box::new(self.holder(left)?), path))
    }

    /// It has the head of its policy, so that Cedar looks no further where that does not fit.
    fn question(&mut self, json: &Value) -> Option<Expression> {
        let number = self.questions.len();
        let head = |name: &str| self.policy.get(name).cloned();
        let policy = json!({
            "effect": "permit",
            "principal": head("principal")?,
            "action": head("action")?,
            "resource": head("resource")?,
            "conditions": [{ "kind": "when", "body": json }],
        });
        self.questions.push(Policy::from_json(Some(PolicyId::new("question")), policy).ok()?);
        Some(Expression::Question(number))
    }
}

impl BinaryOperator {
    fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply)
    }

    /// Does it compare what is in sets and records?
    fn compares(self) -> bool {
        matches!(
            self,
            Self::Equal | Self::Unequal | Self::Contains | Self::ContainsAll | Self::ContainsAny
        )
    }
}

fn binary_operator(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "==" => BinaryOperator::Equal,
        "!=" => BinaryOperator::Unequal,
        "<" => BinaryOperator::Less,
        "<=" => BinaryOperator::LessOrEqual,
        ">" => BinaryOperator::Greater,
        ">=" => BinaryOperator::GreaterOrEqual,
        "+" => BinaryOperator::Add,
        "-" => BinaryOperator::Subtract,
        "*" => BinaryOperator::Multiply,
        "contains" => BinaryOperator::Contains,
        "containsAll" => BinaryOperator::ContainsAll,
        "containsAny" => BinaryOperator::ContainsAny,
        _ => return None,
    })
}

fn address_test(name: &str) -> Option<UnaryOperator> {
    Some(match name {
        "isIpv4" => UnaryOperator::IsIpv4,
        "isIpv6" => UnaryOperator::IsIpv6,
        "isLoopback" => UnaryOperator::IsLoopback,
        "isMulticast" => UnaryOperator::IsMulticast,
        _ => return None,
    })
}

fn literal(json: &Value) -> Option<Constant> {
    match operation(json)? {
        ("Set", elements) => {
            let elements = elements.as_array()?.iter().map(scalar);
            elements.collect::<Option<Vec<_>>>().map(Constant::set)
        }
        _ => scalar(json).map(Constant::Scalar),
    }
}

fn scalar(json: &Value) -> Option<Scalar> {
    match operation(json)? {
        ("Value", Value::Bool(value)) => Some(Scalar::Bool(*value)),
        ("Value", Value::Number(value)) => value.as_i64().map(Scalar::Long),
        ("Value", Value::String(value)) => Some(Scalar::Text(value.as_str().into())),
        ("ip", text) => {
            let [text] = text.as_array()?.as_slice() else { return None };
            AddressRange::read(text.get("Value")?.as_str()?).map(Scalar::Address)
        }
        _ => None,
    }
}

/// The only member of an object.
fn operation(json: &Value) -> Option<(&str, &Value)> {
    let mut members = json.as_object()?.iter();
    let (operator, operands) = members.next()?;
    members.next().is_none().then_some((operator, operands))
}

fn is_variable(json: &Value, name: &str) -> bool {
    json.get("Var").and_then(Value::as_str) == Some(name)
}

/// Is it this attribute of `context`?
fn is_of_context(json: &Value, name: &str) -> bool {
    let Some((".", access)) = operation(json) else { return false };
    let is_it = access.get("attr").and_then(Value::as_str) == Some(name);
    is_it && access.get("left").is_some_and(|left| is_variable(left, "context"))
}

fn depth(json: &Value) -> usize {
    let deepest = match json {
        Value::Array(elements) => elements.iter().map(depth).max(),
        Value::Object(members) => members.values().map(depth).max(),
        _ => return 0,
    };
    deepest.unwrap_or(0) + 1
}

fn mentions_context(json: &Value) -> bool {
    match json {
        Value::Array(elements) => elements.iter().any(mentions_context),
        Value::Object(members) => {
            is_variable(json, "context") || members.values().any(mentions_context)
        }
        _ => false,
    }
}
