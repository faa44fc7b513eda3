//! The text format of Prometheus (version 0.0.4): families of samples with their labels escaped.
//!
//! By hand: the format is frozen and small, and each asker sees other servers.

use std::fmt::Write as _;

pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// Each family once, all its samples together.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// Writes the samples of one family.
#[derive(Debug)]
pub(super) struct Family<'t> {
    text: &'t mut String,
    name: &'static str,
}

pub(super) type Labels<'l> = &'l [(&'static str, &'l str)];

impl Text {
    pub(super) fn family(
        &mut self,
        name: &'static str,
        kind: MetricKind,
        help: &'static str,
    ) -> Family<'_> {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family { text: &mut self.0, name }
    }

    pub(super) fn done(self) -> String {
        self.0
    }
}

impl Family<'_> {
    pub(super) fn sample(&mut self, labels: Labels<'_>, value: impl Into<Number>) -> &mut Self {
        self.named("", labels, value)
    }

    /// With what a histogram's samples have behind the name.
    pub(super) fn named(
        &mut self,
        suffix: &str,
        labels: Labels<'_>,
        value: impl Into<Number>,
    ) -> &mut Self {
        self.text.push_str(self.name);
        self.text.push_str(suffix);
        for (at, (name, value)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{name}=\"{}\"", Escaped(value));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        match value.into() {
            Number::Whole(value) => drop(writeln!(self.text, " {value}")),
            Number::Real(value) => drop(writeln!(self.text, " {value}")),
        }
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

struct Escaped<'v>(&'v str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_in_full() {
        let mut text = Text::default();
        text.family("a_total", MetricKind::Counter, "What is counted.")
            .sample(&[("server", "a\"b\\c\nd"), ("outcome", "ok")], 3)
            .sample(&[], 0.5);
        let expected = "# HELP a_total What is counted.\n# TYPE a_total counter\n\
                        a_total{server=\"a\\\"b\\\\c\\nd\",outcome=\"ok\"} 3\na_total 0.5\n";
        assert_eq!(text.done(), expected);
    }
}
