//! Medians and quartiles of one figure over the rounds.

use std::fmt::Write;

/// One figure, once per round.
#[derive(Debug, Default, Clone)]
pub(super) struct Series(Vec<f64>);

impl Series {
    pub(super) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// A figure computed per round from this and another one.
    pub(super) fn with(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(&a, &b)| combine(a, b)).collect())
    }

    /// `median (first quartile–third quartile)` with three significant digits.
    pub(super) fn show(&self) -> String {
        if self.is_empty() {
            return "–".to_owned();
        }
        let decimals = decimals(self.median());
        let mut text = format!("{:.decimals$}", self.median());
        if self.0.len() > 2 {
            let (low, high) = (self.quantile(0.25), self.quantile(0.75));
            let _ = write!(text, " ({low:.decimals$}–{high:.decimals$})");
        }
        text
    }

    pub(super) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        quantile(&sorted, q)
    }
}

/// How many decimals make three significant digits.
fn decimals(value: f64) -> usize {
    if value == 0.0 {
        return 0;
    }
    (2.0 - value.abs().log10().floor()).clamp(0.0, 7.0) as usize
}

/// The `q`-quantile of sorted values, interpolated.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = q * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// The `q`-quantile of unsorted nanoseconds, in microseconds.
pub(super) fn micros(samples: &mut [u64], q: f64) -> f64 {
    if samples.is_empty() {
        return f64::NAN;
    }
    samples.sort_unstable();
    samples[((samples.len() - 1) as f64 * q).round() as usize] as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let series = Series(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(series.show(), "2.50 (1.75–3.25)");
        assert_eq!(series.with(&series, |a, b| a / b).show(), "1.00 (1.00–1.00)");
        assert_eq!(Series::default().show(), "–");
    }

    #[test]
    fn three_digits_are_shown() {
        let cases = [(1234.5, "1234"), (12.345, "12.3"), (0.012_345, "0.0123"), (0.0, "0")];
        for (value, expected) in cases {
            assert_eq!(Series(vec![value]).show(), expected);
        }
    }

    #[test]
    fn percentiles_of_samples_are_samples() {
        let mut samples: Vec<u64> = (1..=101).map(|n| n * 1000).rev().collect();
        assert_eq!((micros(&mut samples, 0.5), micros(&mut samples, 0.99)), (51.0, 100.0));
    }
}
