//! `Condition`: what a policy asks for, in a form that is evaluated at each call without Cedar.
//!
//! A condition is read once, with its policy. What it says about caller, action and target is found out by Cedar once for
//! each of them (`known`); what is left looks at the circumstances of a call only (`evaluate`). It says what Cedar says,
//! errors included; what is not understood here is left to Cedar altogether.

mod address;
mod constant;
mod evaluate;
mod known;
mod pattern;
mod read;

use std::sync::Arc;

use cedar_policy::Policy;

use crate::looks::Looks;
use constant::Constant;
use pattern::Pattern;

pub(crate) use evaluate::{PolicyContext, civil};
pub(crate) use known::{KnownParties, QuestionAnswer, Residual};

/// The conditions of a policy, all of which have to hold.
#[derive(Debug)]
pub(crate) struct Condition {
    open: Arc<OpenCondition>,
    /// Questions about caller, action and target, each a policy that permits where the answer is yes.
    pub(crate) questions: Vec<Policy>,
    /// Is there anything in it that depends on caller, action or target?
    pub(crate) is_asking: bool,
}

/// What depends on the circumstances only, once caller, action and target are known.
#[derive(Debug)]
pub(crate) struct OpenCondition {
    expression: Expression,
    /// What it looks at of the circumstances.
    pub(crate) looks: Looks,
}

impl OpenCondition {
    fn new(expression: Expression) -> Self {
        let mut looks = Looks::default();
        expression.note_looks(&mut looks);
        Self { expression, looks }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Constant(Constant),
    /// It cannot be evaluated: Cedar says that this is an error.
    Fails,
    /// The truth of this question, by its number.
    Question(usize),
    /// An attribute of the caller or the target, and of that attribute.
    Attribute(Party, Box<[Box<str>]>),
    Now(NowPart),
    Address,
    /// The arguments of the call: only below `Get` and `Has`.
    Arguments,
    Get(Box<Expression>, Box<str>),
    /// It has this member, which has that one …
    Has(Box<Expression>, Box<[Box<str>]>),
    Like(Box<Expression>, Pattern),
    Unary(UnaryOperator, Box<Expression>),
    Binary(BinaryOperator, Box<[Expression; 2]>),
    /// If, then, else.
    If(Box<[Expression; 3]>),
    /// An address, and the range it may be in.
    IsInRange(Box<[Expression; 2]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Party {
    Principal,
    Resource,
}

/// Of `context.now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NowPart {
    Epoch,
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Weekday,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnaryOperator {
    Not,
    Negate,
    IsEmpty,
    IsIpv4,
    IsIpv6,
    IsLoopback,
    IsMulticast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BinaryOperator {
    And,
    Or,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Contains,
    ContainsAll,
    ContainsAny,
}

impl Expression {
    const TRUE: Self = Self::Constant(Constant::Scalar(constant::Scalar::Bool(true)));
    const FALSE: Self = Self::Constant(Constant::Scalar(constant::Scalar::Bool(false)));

    fn binary(operator: BinaryOperator, left: Self, right: Self) -> Self {
        Self::Binary(operator, Box::new([left, right]))
    }

    fn children(&self) -> &[Self] {
        match self {
            Self::Get(of, _) | Self::Has(of, _) | Self::Like(of, _) | Self::Unary(_, of) => {
                std::slice::from_ref(of)
            }
            Self::Binary(_, operands) => &**operands,
            Self::If(branches) => &**branches,
            Self::IsInRange(operands) => &**operands,
            _ => &[],
        }
    }

    /// Is it a truth value, unless it cannot be evaluated?
    fn is_truth(&self) -> bool {
        match self {
            Self::Constant(constant) => constant.is_truth(),
            Self::Unary(operator, _) => *operator != UnaryOperator::Negate,
            Self::Binary(operator, _) => !matches!(
                operator,
                BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply
            ),
            Self::Fails
            | Self::Question(_)
            | Self::Has(..)
            | Self::Like(..)
            | Self::IsInRange(_) => true,
            _ => false,
        }
    }

    /// Can it be a set or a record that a caller has written? Two of those are not compared here: that takes long.
    fn may_be_large(&self) -> bool {
        match self {
            Self::Get(..) | Self::Arguments => true,
            Self::If(branches) => branches.iter().skip(1).any(Self::may_be_large),
            _ => false,
        }
    }

    /// What it looks at of the circumstances.
    fn note_looks(&self, looks: &mut Looks) {
        match self {
            Self::Now(part) => looks.now.add(part.name()),
            Self::Address => looks.address = true,
            Self::Get(of, name) if **of == Self::Arguments => looks.arguments.add(name),
            Self::Has(of, path) if **of == Self::Arguments => {
                path.first().into_iter().for_each(|name| looks.arguments.add(name));
            }
            _ => self.children().iter().for_each(|child| child.note_looks(looks)),
        }
    }

    fn is_asking(&self) -> bool {
        matches!(self, Self::Question(_) | Self::Attribute(..))
            || self.children().iter().any(Self::is_asking)
    }
}

impl NowPart {
    const ALL: [Self; 7] =
        [Self::Epoch, Self::Year, Self::Month, Self::Day, Self::Hour, Self::Minute, Self::Weekday];

    fn name(self) -> &'static str {
        match self {
            Self::Epoch => "epoch",
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Weekday => "weekday",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}
