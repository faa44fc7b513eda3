//! How a target takes its settings and its cuts from the input.

/// The first `N` bytes as settings, and what the parser is given; `None` for an input that is too short.
pub(crate) fn settings<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    let (head, rest) = bytes.split_at_checked(N)?;
    Some((head.try_into().ok()?, rest))
}

/// `bytes` in pieces whose lengths come from `seed`: 1 to 16 bytes each, or all at once for 0.
pub(crate) fn pieces(bytes: &[u8], seed: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    let mut state = usize::from(seed);
    std::iter::from_fn(move || {
        let length = match state {
            0 => rest.len(),
            _ => 1 + state % 16,
        };
        state = if state == 0 { 0 } else { (state * 5 + 3) % 251 + 1 };
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// `bytes` at the first NUL byte: two texts in one input.
pub(crate) fn two_texts(bytes: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.split_once('\0').unwrap_or((text, "")))
}
