//! `traceparent` (W3C Trace Context): which trace a call belongs to, and which span it came from.

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    /// The caller wants it to be recorded.
    pub(super) is_sampled: bool,
}

impl Parent {
    /// Strict: what is not exactly a `traceparent` is nobody's parent. A version that is not known
    /// yet may have more behind what is known of it.
    pub(super) fn read(header: &str) -> Option<Self> {
        let bytes = header.as_bytes();
        let (known, more) = bytes.split_at_checked(55)?;
        let version: [u8; 1] = digits(known.get(..2)?)?;
        let fits = match version {
            [0] => more.is_empty(),
            [0xff] => false,
            _ => more.is_empty() || more.starts_with(b"-"),
        };
        let dashes = [2, 35, 52].iter().all(|at| known.get(*at) == Some(&b'-'));
        let trace = digits(known.get(3..35)?).filter(|id| *id != [0; 16])?;
        let span = digits(known.get(36..52)?).filter(|id| *id != [0; 8])?;
        let [flags] = digits(known.get(53..55)?)?;
        (fits && dashes).then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }
}

/// Lowercase hexadecimal digits only (W3C Trace Context, 3.2.1: `HEXDIGLC`).
fn digits<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let is_lower = !text.iter().any(u8::is_ascii_uppercase);
    (is_lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_parent_is_read() {
        for (header, sampled) in [
            (GOOD.to_owned(), true),
            (GOOD.replace("-01", "-00"), false),
            (GOOD.replace("-01", "-ff"), true),
            (GOOD.replacen("00-", "01-", 1), true),
            (format!("{}-more", GOOD.replacen("00-", "cc-", 1)), true),
        ] {
            let parent = Parent::read(&header).unwrap();
            assert_eq!(
                u128::from_be_bytes(parent.trace),
                0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c
            );
            assert_eq!(u64::from_be_bytes(parent.span), 0xb7ad_6b71_6920_3331);
            assert_eq!(parent.is_sampled, sampled, "{header}");
        }
    }

    #[test]
    fn what_is_no_parent_is_ignored() {
        for header in [
            String::new(),
            GOOD.get(..54).unwrap().to_owned(),
            format!("{GOOD}-more"),
            format!("{GOOD} "),
            format!(" {GOOD}"),
            GOOD.to_uppercase(),
            GOOD.replacen("00-", "ff-", 1),
            format!("{}x", GOOD.replacen("00-", "01-", 1)),
            GOOD.replace('-', "_"),
            GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            GOOD.replace("b7ad", "b7ag"),
            GOOD.replace("b7ad", "é7d"),
            GOOD.replace("-01", "-0x"),
        ] {
            assert_eq!(Parent::read(&header), None, "{header}");
        }
    }
}
