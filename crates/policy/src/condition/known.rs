//! What is left of a condition when caller, action and target are known.

use std::sync::Arc;

use cedar_policy::{Entity, EvalResult};

use super::constant::{Constant, Scalar};
use super::{BinaryOperator, Condition, Expression, OpenCondition, Party, UnaryOperator};

/// What is known, as Cedar has it.
pub(crate) struct KnownParties<'a> {
    pub(crate) who: Option<&'a Entity>,
    pub(crate) what: Option<&'a Entity>,
    /// To the questions of the condition, in their order.
    pub(crate) answers: &'a [QuestionAnswer],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionAnswer {
    Yes,
    No,
    /// It cannot be evaluated.
    Fails,
}

pub(crate) enum Residual {
    /// `None`: it cannot be evaluated, whatever the circumstances.
    Settled(Option<bool>),
    Open(Arc<OpenCondition>),
}

impl Condition {
    /// `None`: Cedar has to decide about it.
    pub(crate) fn residual(&self, known: &KnownParties<'_>) -> Option<Residual> {
        let open = match self.is_asking {
            false => Arc::clone(&self.open),
            true => Arc::new(OpenCondition::new(known.simplified(&self.open.expression)?)),
        };
        Some(match &open.expression {
            Expression::Constant(constant) => Residual::Settled(constant.truth()),
            Expression::Fails => Residual::Settled(None),
            _ => Residual::Open(open),
        })
    }
}

impl KnownParties<'_> {
    /// Nobody: for conditions that do not ask who it is.
    pub(crate) const NOBODY: Self = Self { who: None, what: None, answers: &[] };

    /// `None`: something in it is of a kind that is not known here.
    fn simplified(&self, expression: &Expression) -> Option<Expression> {
        match expression {
            Expression::Question(number) => Some(match self.answers.get(*number)? {
                QuestionAnswer::Yes => Expression::TRUE,
                QuestionAnswer::No => Expression::FALSE,
                QuestionAnswer::Fails => Expression::Fails,
            }),
            Expression::Attribute(party, path) => self.attribute(*party, path),
            Expression::Binary(operator @ (BinaryOperator::And | BinaryOperator::Or), operands) => {
                let [left, right] = &**operands;
                // What ends it without a look at the right side.
                let ends_it = *operator == BinaryOperator::Or;
                match self.truth(left)? {
                    Err(Expression::Fails) => Some(Expression::Fails),
                    Err(left) => Some(Expression::binary(*operator, left, self.simplified(right)?)),
                    Ok(left) if left == ends_it => Some(truth_constant(left)),
                    // It has to be a truth value.
                    Ok(_) => Some(match self.truth(right)? {
                        Ok(right) => truth_constant(right),
                        Err(right) if right.is_truth() => right,
                        Err(right) => {
                            Expression::binary(BinaryOperator::And, Expression::TRUE, right)
                        }
                    }),
                }
            }
            Expression::Unary(UnaryOperator::Not, of) => Some(match self.truth(of)? {
                Ok(of) => truth_constant(!of),
                Err(Expression::Fails) => Expression::Fails,
                Err(of) => Expression::Unary(UnaryOperator::Not, Box::new(of)),
            }),
            Expression::If(branches) => {
                let [condition, then, otherwise] = &**branches;
                match self.truth(condition)? {
                    Ok(true) => self.simplified(then),
                    Ok(false) => self.simplified(otherwise),
                    Err(Expression::Fails) => Some(Expression::Fails),
                    Err(condition) => {
                        let branches =
                            [condition, self.simplified(then)?, self.simplified(otherwise)?];
                        Some(Expression::If(Box::new(branches)))
                    }
                }
            }
            other => self.strict(other),
        }
    }

    /// A truth value, or an expression that is none yet.
    fn truth(&self, expression: &Expression) -> Option<Result<bool, Expression>> {
        Some(match self.simplified(expression)? {
            Expression::Constant(constant) => constant.truth().ok_or(Expression::Fails),
            open => Err(open),
        })
    }

    /// An operation that evaluates all its operands.
    fn strict(&self, expression: &Expression) -> Option<Expression> {
        let simple = |of: &Expression| self.simplified(of).map(Box::new);
        let simplified = match expression {
            Expression::Get(of, name) => Expression::Get(simple(of)?, name.clone()),
            Expression::Has(of, path) => Expression::Has(simple(of)?, path.clone()),
            Expression::Like(of, pattern) => Expression::Like(simple(of)?, pattern.clone()),
            Expression::Unary(operator, of) => Expression::Unary(*operator, simple(of)?),
            Expression::Binary(operator, operands) => {
                let [left, right] = &**operands;
                Expression::binary(*operator, self.simplified(left)?, self.simplified(right)?)
            }
            Expression::IsInRange(operands) => {
                let [one, range] = &**operands;
                Expression::IsInRange(Box::new([self.simplified(one)?, self.simplified(range)?]))
            }
            other => other.clone(),
        };
        let fails = simplified.children().contains(&Expression::Fails);
        Some(if fails { Expression::Fails } else { simplified })
    }

    fn attribute(&self, party: Party, path: &[Box<str>]) -> Option<Expression> {
        let entity = match party {
            Party::Principal => self.who,
            Party::Resource => self.what,
        };
        let (first, rest) = path.split_first()?;
        let Some(value) = entity?.attr(first) else { return Some(Expression::Fails) };
        let mut value = &value.ok()?;
        for name in rest {
            let EvalResult::Record(record) = value else { return Some(Expression::Fails) };
            match record.get(name) {
                Some(member) => value = member,
                None => return Some(Expression::Fails),
            }
        }
        Constant::of(value).map(Expression::Constant)
    }
}

fn truth_constant(value: bool) -> Expression {
    if value { Expression::TRUE } else { Expression::FALSE }
}

impl Constant {
    fn truth(&self) -> Option<bool> {
        match self {
            Self::Scalar(Scalar::Bool(value)) => Some(*value),
            _ => None,
        }
    }
}
