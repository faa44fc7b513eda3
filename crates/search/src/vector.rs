//! A direction in a space of meanings, in bytes: what is compared is the angle only.

use fearless_simd::{Level, dispatch};

/// A unit vector as bytes and what one step of them is worth.
///
/// The largest component takes all 127 steps: with one scale for all, a component of a unit vector
/// in 256 dimensions would use eight of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    pub(crate) values: Box<[i8]>,
    pub(crate) scale: f32,
}

impl Vector {
    /// From numbers of any length, as an embedding endpoint gives them. `None` if they point nowhere.
    #[must_use]
    pub fn new(numbers: &[f32]) -> Option<Self> {
        let length = numbers.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        let reach = numbers.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        if !length.is_finite() || reach <= 0.0 {
            return None;
        }
        let values = numbers.iter().map(|x| step(x / reach * 127.0)).collect();
        Some(Self { values, scale: narrow(f64::from(reach) / (127.0 * length)) })
    }

    pub(crate) fn width(&self) -> usize {
        self.values.len()
    }

    /// How near the other one is: 1 for the same direction. 0 if they lie in different spaces.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.width() != other.width() {
            return 0.0;
        }
        let mut products = Vec::new();
        crate::dot::products(&self.values, &other.values, &mut products);
        cosine(products.first().copied().unwrap_or(0), self.scale, other.scale)
    }

    /// As numbers again, of unit length but for rounding.
    pub fn numbers(&self) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().map(|&value| f32::from(value) * self.scale)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a number outside is brought to the edge")]
fn step(number: f32) -> i8 {
    number.round() as i8
}

#[expect(clippy::cast_possible_truncation, reason = "a quotient of two numbers that were f32")]
fn narrow(number: f64) -> f32 {
    number as f32
}

/// The cosine, from the sum of products of the bytes.
#[expect(clippy::cast_precision_loss, reason = "below 2^24 for 1,024 dimensions, and near above")]
#[inline(always)]
pub(crate) fn cosine(product: i32, left: f32, right: f32) -> f32 {
    (product as f32 * left * right).clamp(-1.0, 1.0)
}

/// How near one vector is to each of many.
pub(crate) fn cosines(products: &[i32], left: f32, right: &[f32], cosines: &mut Vec<f32>) {
    cosines.clear();
    cosines.resize(products.len().min(right.len()), 0.0);
    dispatch!(Level::new(), _simd => kernel(products, left, right, cosines));
}

#[inline(always)]
fn kernel(products: &[i32], left: f32, right: &[f32], cosines: &mut [f32]) {
    for ((to, product), right) in cosines.iter_mut().zip(products).zip(right) {
        *to = cosine(*product, left, *right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dot;
    use proptest::prelude::*;

    fn between(left: &Vector, right: &Vector) -> f32 {
        let mut scores = Vec::new();
        dot::products(&left.values, &right.values, &mut scores);
        cosine(scores[0], left.scale, right.scale)
    }

    #[test]
    fn what_points_nowhere_is_no_vector() {
        for numbers in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY]] {
            assert_eq!(Vector::new(numbers), None, "{numbers:?}");
        }
    }

    proptest! {
        #[test]
        fn the_angle_survives_being_bytes(
            left in prop::collection::vec(-1.0f32..1.0, 32),
            right in prop::collection::vec(-1.0f32..1.0, 32),
        ) {
            let exact = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            let expected = exact(&left, &right) / (exact(&left, &left) * exact(&right, &right)).sqrt();
            let (Some(left), Some(right)) = (Vector::new(&left), Vector::new(&right)) else {
                return Ok(());
            };
            prop_assert!((between(&left, &right) - expected).abs() < 0.02);
        }
    }
}
