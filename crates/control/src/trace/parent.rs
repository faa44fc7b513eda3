//! `traceparent` (W3C Trace Context): which trace a call belongs to, and which span it came from.

use ring::rand::{SecureRandom, SystemRandom};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    pub trace: TraceId,
    pub span: SpanId,
    /// The caller wants it to be recorded.
    pub is_sampled: bool,
}

impl Parent {
    /// Strict: what is not exactly a `traceparent` is nobody's parent. A version that is not known
    /// yet may have more behind what is known of it.
    pub fn read(header: &str) -> Option<Self> {
        let bytes = header.as_bytes();
        let (known, more) = bytes.split_at_checked(55)?;
        let version: [u8; 1] = hex(known.get(..2)?)?;
        let fits = match version {
            [0] => more.is_empty(),
            [0xff] => false,
            _ => more.is_empty() || more.starts_with(b"-"),
        };
        let dashes = [2, 35, 52].iter().all(|at| known.get(*at) == Some(&b'-'));
        let trace = TraceId::new(hex(known.get(3..35)?)?)?;
        let span = SpanId::new(hex(known.get(36..52)?)?)?;
        let [flags] = hex(known.get(53..55)?)?;
        (fits && dashes).then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }
}

impl TraceId {
    /// None of zeros only: that means nothing.
    pub fn new(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// None if the system gives no random bytes.
    pub fn random() -> Option<Self> {
        random().and_then(Self::new)
    }
}

impl SpanId {
    pub fn new(bytes: [u8; 8]) -> Option<Self> {
        (bytes != [0; 8]).then_some(Self(bytes))
    }

    pub fn random() -> Option<Self> {
        random().and_then(Self::new)
    }
}

impl std::fmt::Display for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Display for SpanId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceId({self})")
    }
}

impl std::fmt::Debug for SpanId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SpanId({self})")
    }
}

fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Lowercase digits only, as the standard wants it.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    let mut pairs = text.chunks_exact(2);
    for byte in &mut bytes {
        let [high, low] = pairs.next()? else { return None };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
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
            assert_eq!(parent.trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(parent.span.to_string(), "b7ad6b7169203331");
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

    #[test]
    fn random_ids_differ() {
        assert_ne!(TraceId::random(), TraceId::random());
        assert_ne!(SpanId::random(), SpanId::random());
    }
}
