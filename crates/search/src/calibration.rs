//! How sure the classifier may be: what its head says → how often it was right when it said so.

use crate::bytes::{ByteReader, ModelError};

/// Rising steps with lines between.
#[derive(Debug)]
pub(crate) struct Calibration {
    points: Vec<(f32, f32)>,
}

impl Calibration {
    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Self, ModelError> {
        let count = reader.count(4096, "points of calibration")?;
        let mut points = Vec::with_capacity(count);
        for _ in 0..count {
            points.push((reader.float("share")?, reader.float("confidence")?));
        }
        Ok(Self { points })
    }

    pub(crate) fn confidence(&self, share: f32) -> f32 {
        let after = self.points.partition_point(|(x, _)| *x <= share);
        let before = after.checked_sub(1).and_then(|at| self.points.get(at));
        let value = match (before, self.points.get(after)) {
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (share - x0) / (x1 - x0),
            (Some((_, y)), None) | (None, Some((_, y))) => *y,
            (None, None) => 0.0,
        };
        value.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_lies_on_the_lines_between_the_points() {
        let calibration = Calibration { points: vec![(0.2, 0.1), (0.4, 0.5), (0.8, 0.9)] };
        let cases = [(0.0, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5), (0.6, 0.7), (1.0, 0.9)];
        for (share, expected) in cases {
            assert!((calibration.confidence(share) - expected).abs() < 1e-6, "{share}");
        }
        assert!(Calibration { points: Vec::new() }.confidence(0.5).abs() < 1e-6);
    }
}
