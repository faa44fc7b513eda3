//! Times counted in fixed buckets.

use std::time::Duration;

/// Upper bounds in seconds: from a call that only passes through to one that takes a minute.
pub(super) const BOUNDS: [f64; 15] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histogram {
    /// Not cumulative; those beyond the last bound are in `count` only.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: Duration,
}

impl Histogram {
    pub(super) fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = BOUNDS.iter().zip(&mut self.buckets).find(|(bound, _)| seconds <= **bound);
        if let Some((_, bucket)) = place {
            *bucket += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(took);
    }

    /// Each bound, and how many were not above it.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        BOUNDS.iter().zip(&self.buckets).scan(0, |below, (bound, bucket)| {
            *below += bucket;
            Some((*bound, *below))
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn seconds(&self) -> f64 {
        self.sum.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_its_bucket_and_all_above() {
        let mut histogram = Histogram::default();
        for millis in [1, 2, 2_500, 61_000] {
            histogram.add(Duration::from_millis(millis));
        }
        let found: Vec<_> = histogram.cumulative().collect();
        for (bound, count) in [(0.001, 1), (0.0025, 2), (1.0, 2), (2.5, 3), (60.0, 3)] {
            assert!(found.contains(&(bound, count)), "{bound} {found:?}");
        }
        assert_eq!((histogram.count(), histogram.seconds()), (4, 63.503));
    }
}
