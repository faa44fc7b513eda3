//! What a condition says in these circumstances. It is Cedar's own answer; `None` is what Cedar calls an error.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::address::AddressRange;
use super::constant::{Constant, Scalar};
use super::{BinaryOperator, Expression, NowPart, OpenCondition, UnaryOperator};
use crate::value::Json;

/// `context`, as far as it is looked at.
pub(crate) struct PolicyContext<'a> {
    arguments: &'a [(Cow<'a, str>, Json<'a>)],
    epoch: i64,
    /// Made when something of it is looked at.
    moment: OnceCell<DateTime>,
    address: AddressRange,
}

impl<'a> PolicyContext<'a> {
    /// `epoch`: seconds since 1970.
    pub(crate) fn new(
        arguments: &'a [(Cow<'a, str>, Json<'a>)],
        epoch: i64,
        address: IpAddr,
    ) -> Self {
        // An address that a dual-stack socket shows as IPv6 is the IPv4 one that people write.
        let address = AddressRange::one(address.to_canonical());
        Self { arguments, epoch, moment: OnceCell::new(), address }
    }

    fn now(&self, part: NowPart) -> i64 {
        let at = || *self.moment.get_or_init(|| civil(self.epoch));
        match part {
            NowPart::Epoch => self.epoch,
            NowPart::Year => at().year().into(),
            NowPart::Month => at().month().into(),
            NowPart::Day => at().day().into(),
            NowPart::Hour => at().hour().into(),
            NowPart::Minute => at().minute().into(),
            NowPart::Weekday => at().weekday().to_monday_one_offset().into(),
        }
    }
}

/// In UTC; that of 1970 for a time that no calendar has.
pub(crate) fn civil(epoch: i64) -> DateTime {
    TimeZone::UTC.to_datetime(Timestamp::from_second(epoch).unwrap_or_default())
}

#[derive(Clone, Copy)]
enum PolicyValue<'v> {
    Bool(bool),
    Long(i64),
    Text(&'v str),
    Address(AddressRange),
    Known(&'v [Scalar]),
    Set(&'v [Json<'v>]),
    Record(&'v [(Cow<'v, str>, Json<'v>)]),
}

impl OpenCondition {
    pub(crate) fn holds(&self, context: &PolicyContext<'_>) -> Option<bool> {
        truth(&self.expression, context)
    }
}

fn truth(expression: &Expression, context: &PolicyContext<'_>) -> Option<bool> {
    match value(expression, context)? {
        PolicyValue::Bool(value) => Some(value),
        _ => None,
    }
}

fn long(expression: &Expression, context: &PolicyContext<'_>) -> Option<i64> {
    match value(expression, context)? {
        PolicyValue::Long(value) => Some(value),
        _ => None,
    }
}

fn address(expression: &Expression, context: &PolicyContext<'_>) -> Option<AddressRange> {
    match value(expression, context)? {
        PolicyValue::Address(value) => Some(value),
        _ => None,
    }
}

fn value<'v>(
    expression: &'v Expression,
    context: &'v PolicyContext<'_>,
) -> Option<PolicyValue<'v>> {
    Some(match expression {
        Expression::Constant(Constant::Scalar(scalar)) => scalar.into(),
        Expression::Constant(Constant::Set(elements)) => PolicyValue::Known(elements),
        // Those that ask are answered before.
        Expression::Fails | Expression::Question(_) | Expression::Attribute(..) => return None,
        Expression::Now(part) => PolicyValue::Long(context.now(*part)),
        Expression::Address => PolicyValue::Address(context.address),
        Expression::Arguments => PolicyValue::Record(context.arguments),
        Expression::Get(of, name) => match value(of, context)? {
            PolicyValue::Record(members) => member(members, name)?,
            _ => return None,
        },
        Expression::Has(of, path) => PolicyValue::Bool(has(value(of, context)?, path)?),
        Expression::Like(of, pattern) => match value(of, context)? {
            PolicyValue::Text(text) => PolicyValue::Bool(pattern.fits(text)),
            _ => return None,
        },
        Expression::Unary(operator, of) => unary(*operator, of, context)?,
        Expression::Binary(operator, operands) => binary(*operator, operands, context)?,
        Expression::If(branches) => {
            let [condition, then, otherwise] = &**branches;
            let branch = if truth(condition, context)? { then } else { otherwise };
            return value(branch, context);
        }
        Expression::IsInRange(operands) => {
            let [one, range] = &**operands;
            PolicyValue::Bool(address(one, context)?.is_in(address(range, context)?))
        }
    })
}

fn unary<'v>(
    operator: UnaryOperator,
    of: &Expression,
    context: &PolicyContext<'_>,
) -> Option<PolicyValue<'v>> {
    Some(PolicyValue::Bool(match operator {
        UnaryOperator::Not => !truth(of, context)?,
        UnaryOperator::Negate => {
            return long(of, context)?.checked_neg().map(PolicyValue::Long);
        }
        UnaryOperator::IsEmpty => match value(of, context)? {
            PolicyValue::Known(elements) => elements.is_empty(),
            PolicyValue::Set(elements) => elements.is_empty(),
            _ => return None,
        },
        UnaryOperator::IsIpv4 => address(of, context)?.is_ipv4(),
        UnaryOperator::IsIpv6 => !address(of, context)?.is_ipv4(),
        UnaryOperator::IsLoopback => address(of, context)?.is_loopback(),
        UnaryOperator::IsMulticast => address(of, context)?.is_multicast(),
    }))
}

fn binary<'v>(
    operator: BinaryOperator,
    [left, right]: &[Expression; 2],
    context: &PolicyContext<'_>,
) -> Option<PolicyValue<'v>> {
    let longs = || Some((long(left, context)?, long(right, context)?));
    let arithmetic = |operation: fn(i64, i64) -> Option<i64>| {
        let (left, right) = longs()?;
        operation(left, right).map(PolicyValue::Long)
    };
    let values = || Some((value(left, context)?, value(right, context)?));
    Some(PolicyValue::Bool(match operator {
        BinaryOperator::And => truth(left, context)? && truth(right, context)?,
        BinaryOperator::Or => truth(left, context)? || truth(right, context)?,
        BinaryOperator::Equal => values().map(|(left, right)| is_equal(left, right))?,
        BinaryOperator::Unequal => values().map(|(left, right)| !is_equal(left, right))?,
        BinaryOperator::Less => longs().map(|(left, right)| left < right)?,
        BinaryOperator::LessOrEqual => longs().map(|(left, right)| left <= right)?,
        BinaryOperator::Greater => longs().map(|(left, right)| left > right)?,
        BinaryOperator::GreaterOrEqual => longs().map(|(left, right)| left >= right)?,
        BinaryOperator::Add => return arithmetic(i64::checked_add),
        BinaryOperator::Subtract => return arithmetic(i64::checked_sub),
        BinaryOperator::Multiply => return arithmetic(i64::checked_mul),
        BinaryOperator::Contains => {
            let (set, one) = values()?;
            match set {
                PolicyValue::Known(known) => place(known, one).is_some(),
                PolicyValue::Set(set) => set.iter().any(|it| is_equal(it.into(), one)),
                _ => return None,
            }
        }
        BinaryOperator::ContainsAll => {
            let (set, others) = values()?;
            SetOverlap::of(others, set)?.is_whole_first
        }
        BinaryOperator::ContainsAny => {
            let (set, others) = values()?;
            SetOverlap::of(others, set)?.is_any
        }
    }))
}

fn member<'v>(members: &'v [(Cow<'v, str>, Json<'v>)], name: &str) -> Option<PolicyValue<'v>> {
    members.iter().find(|(known, _)| known == name).map(|(_, value)| value.into())
}

fn has(mut value: PolicyValue<'_>, path: &[Box<str>]) -> Option<bool> {
    for name in path {
        let PolicyValue::Record(members) = value else { return None };
        match member(members, name) {
            Some(member) => value = member,
            None => return Some(false),
        }
    }
    Some(true)
}

/// One of them is no set and no record that a caller has written: those take long to compare, and are Cedar's.
fn is_equal(left: PolicyValue<'_>, right: PolicyValue<'_>) -> bool {
    match (left, right) {
        (PolicyValue::Bool(left), PolicyValue::Bool(right)) => left == right,
        (PolicyValue::Long(left), PolicyValue::Long(right)) => left == right,
        (PolicyValue::Text(left), PolicyValue::Text(right)) => left == right,
        (PolicyValue::Address(left), PolicyValue::Address(right)) => left == right,
        // Without a look at the elements: there may be many sets to compare with this one.
        (PolicyValue::Known(known), PolicyValue::Set(set))
        | (PolicyValue::Set(set), PolicyValue::Known(known))
            if set.len() < known.len() =>
        {
            false
        }
        _ => SetOverlap::of(left, right).is_some_and(|it| it.is_whole_first && it.is_whole_other),
    }
}

/// What two sets have of each other. One of them is known.
struct SetOverlap {
    /// Everything of the first is in the other.
    is_whole_first: bool,
    is_whole_other: bool,
    is_any: bool,
}

impl SetOverlap {
    /// `None`: one of them is no set.
    fn of(first: PolicyValue<'_>, other: PolicyValue<'_>) -> Option<Self> {
        match (first, other) {
            (PolicyValue::Known(first), PolicyValue::Known(other)) => {
                Some(Self::with(first.iter().map(Into::into), other))
            }
            (PolicyValue::Set(first), PolicyValue::Known(other)) => {
                Some(Self::with(first.iter().map(Into::into), other))
            }
            (PolicyValue::Known(first), PolicyValue::Set(other)) => {
                let Self { is_whole_first, is_whole_other, is_any } =
                    Self::with(other.iter().map(Into::into), first);
                Some(Self {
                    is_whole_first: is_whole_other,
                    is_whole_other: is_whole_first,
                    is_any,
                })
            }
            _ => None,
        }
    }

    fn with<'v>(first: impl Iterator<Item = PolicyValue<'v>>, known: &[Scalar]) -> Self {
        let (mut is_whole_first, mut found) = (true, vec![false; known.len()]);
        for element in first {
            match place(known, element).and_then(|place| found.get_mut(place)) {
                Some(found) => *found = true,
                None => is_whole_first = false,
            }
        }
        let is_whole_other = !found.contains(&false);
        Self { is_whole_first, is_whole_other, is_any: found.contains(&true) }
    }
}

/// Where it is among these.
fn place(known: &[Scalar], one: PolicyValue<'_>) -> Option<usize> {
    let place = match one {
        PolicyValue::Bool(one) => known.binary_search(&Scalar::Bool(one)),
        PolicyValue::Long(one) => known.binary_search(&Scalar::Long(one)),
        PolicyValue::Address(one) => known.binary_search(&Scalar::Address(one)),
        PolicyValue::Text(one) => known.binary_search_by(|known| match known {
            Scalar::Text(known) => (**known).cmp(one),
            Scalar::Bool(_) | Scalar::Long(_) => std::cmp::Ordering::Less,
            Scalar::Address(_) => std::cmp::Ordering::Greater,
        }),
        PolicyValue::Known(_) | PolicyValue::Set(_) | PolicyValue::Record(_) => return None,
    };
    place.ok()
}

impl<'v> From<&'v Scalar> for PolicyValue<'v> {
    fn from(scalar: &'v Scalar) -> Self {
        match scalar {
            Scalar::Bool(value) => Self::Bool(*value),
            Scalar::Long(value) => Self::Long(*value),
            Scalar::Text(value) => Self::Text(value),
            Scalar::Address(value) => Self::Address(*value),
        }
    }
}

impl<'v> From<&'v Json<'v>> for PolicyValue<'v> {
    fn from(json: &'v Json<'v>) -> Self {
        match json {
            Json::Bool(value) => Self::Bool(*value),
            Json::Long(value) => Self::Long(*value),
            Json::Text(value) => Self::Text(value),
            Json::Set(elements) => Self::Set(elements),
            Json::Record(members) => Self::Record(members),
        }
    }
}
