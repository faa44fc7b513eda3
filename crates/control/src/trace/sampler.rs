//! `Sampler`: which requests are followed, in the words of OpenTelemetry.

use super::parent::Parent;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// What the client has decided counts, where it has.
    by_parent: bool,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    All,
    None,
    /// So many of all: those whose trace's number is below this, of 2^63.
    Below(u64),
}

impl Default for Sampler {
    /// As the specification has it where nothing is said.
    fn default() -> Self {
        Self { by_parent: true, rule: Rule::All }
    }
}

/// All there are 2^63 of.
const WHOLE: u64 = 1 << 63;

impl Sampler {
    /// What `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` say. The error: what is wrong.
    pub fn read(name: &str, argument: Option<&str>) -> Result<Self, String> {
        let (by_parent, rule) = match name.strip_prefix("parentbased_") {
            Some(rule) => (true, rule),
            None => (false, name),
        };
        let rule = match rule {
            "always_on" => Rule::All,
            "always_off" => Rule::None,
            "traceidratio" => Rule::Below(share(argument)?),
            _ => {
                return Err("is none of always_on, always_off, traceidratio and parentbased_…, \
                            each of these"
                    .to_owned());
            }
        };
        Ok(Self { by_parent, rule })
    }

    pub(super) fn takes(self, parent: Option<&Parent>, trace: [u8; 16]) -> bool {
        if let Some(parent) = parent.filter(|_| self.by_parent) {
            return parent.is_sampled;
        }
        match self.rule {
            Rule::All => true,
            Rule::None => false,
            Rule::Below(bound) => {
                let [.., a, b, c, d, e, f, g, h] = trace;
                u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1 < bound
            }
        }
    }
}

/// A share of all, from 0 to 1, of 2^63.
fn share(argument: Option<&str>) -> Result<u64, String> {
    let Some(argument) = argument else { return Ok(WHOLE) };
    let ratio = argument.trim().parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    let ratio: f64 = ratio.ok_or("needs a number from 0 to 1 in OTEL_TRACES_SAMPLER_ARG")?;
    // In steps of one in 2^32, which is exact in both kinds of numbers.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 2^32, and whole"
    )]
    let steps = (ratio * f64::from(u32::MAX) + ratio).round() as u64;
    Ok(steps << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(is_sampled: bool) -> Parent {
        Parent { trace: [1; 16], span: [1; 8], is_sampled }
    }

    #[test]
    fn what_is_followed() {
        let (low, high) = ([0; 16], [0xff; 16]);
        for (name, argument, none, sampled, unsampled) in [
            ("always_on", None, [true, true], true, true),
            ("always_off", None, [false, false], false, false),
            ("traceidratio", Some("0.5"), [true, false], true, true),
            ("traceidratio", Some("0"), [false, false], false, false),
            ("traceidratio", Some("1"), [true, true], true, true),
            ("traceidratio", None, [true, true], true, true),
            ("parentbased_always_on", None, [true, true], true, false),
            ("parentbased_always_off", None, [false, false], true, false),
            ("parentbased_traceidratio", Some("0.25"), [true, false], true, false),
        ] {
            let sampler = Sampler::read(name, argument).unwrap();
            let got = [sampler.takes(None, low), sampler.takes(None, high)];
            assert_eq!(got, none, "{name} {argument:?}");
            assert_eq!(sampler.takes(Some(&parent(true)), low), sampled, "{name} {argument:?}");
            assert_eq!(sampler.takes(Some(&parent(false)), low), unsampled, "{name} {argument:?}");
        }
        assert_eq!(Sampler::read("parentbased_always_on", None), Ok(Sampler::default()));
    }

    #[test]
    fn a_share_is_that_share() {
        for (argument, expected) in [("0.5", 1 << 62), ("0.25", 1 << 61), ("1", WHOLE), ("0", 0)] {
            assert_eq!(share(Some(argument)), Ok(expected), "{argument}");
        }
    }

    #[test]
    fn what_is_no_sampler_is_said() {
        for (name, argument) in [
            ("", None),
            ("jaeger_remote", None),
            ("traceidratio", Some("2")),
            ("traceidratio", Some("-0.1")),
            ("traceidratio", Some("half")),
            ("traceidratio", Some("NaN")),
        ] {
            assert!(Sampler::read(name, argument).is_err(), "{name} {argument:?}");
        }
    }
}
