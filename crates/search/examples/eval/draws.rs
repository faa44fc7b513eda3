//! How sure a mean is: the requests are drawn anew, two thousand times, with a fixed seed.

const TIMES: usize = 2000;

/// A mean and where it lies in 95 of 100 draws.
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} [{:.1}, {:.1}]", self.mean, self.low, self.high)
    }
}

/// Of the mean over groups of the mean within each: a set with many requests counts as one with few.
pub(crate) fn interval(groups: &[Vec<f64>]) -> Interval {
    let mut state = 7u64;
    let mut next = |count: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count.max(1)
    };
    let mut means: Vec<f64> = (0..TIMES)
        .map(|_| {
            average(groups.iter().map(|rows| {
                let drawn = (0..rows.len()).map(|_| rows.get(next(rows.len())).copied());
                average(drawn.flatten())
            }))
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |place: usize| means.get(place).copied().unwrap_or_default();
    let mean = average(groups.iter().map(|rows| average(rows.iter().copied())));
    Interval { mean, low: at(TIMES / 40), high: at(TIMES - TIMES / 40 - 1) }
}

fn average(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for number in numbers {
        sum += number;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}
