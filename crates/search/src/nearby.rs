//! The known term that an unknown one was probably meant to be: a beginning of it, or one slip away.

/// Shorter words begin too many others.
const SHORTEST: usize = 3;
/// In shorter words, one letter more or less is another word.
const SHORTEST_SLIP: usize = 5;

/// The nearest of the known terms. The choice depends on which terms there are, not on their order.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .filter_map(|term| rank(wanted, term).map(|rank| (rank, term.len(), term)))
        .min()
        .map(|(_, _, term)| term)
}

fn rank(wanted: &str, term: &str) -> Option<u8> {
    if wanted.len() >= SHORTEST && term.starts_with(wanted) {
        return Some(0);
    }
    if term.len() >= SHORTEST_SLIP && wanted.starts_with(term) {
        return Some(1);
    }
    (wanted.len() >= SHORTEST_SLIP && one_slip(wanted.as_bytes(), term.as_bytes())).then_some(2)
}

/// One letter too many, too few, another one, or two in the wrong order.
fn one_slip(left: &[u8], right: &[u8]) -> bool {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (Some(short), Some(long)) = (short.get(same..), long.get(same..)) else {
        return false;
    };
    match (short, long) {
        (_, [_, rest @ ..]) if rest == short => true,
        ([_, rest @ ..], [_, other @ ..]) if rest == other => true,
        ([a, b, rest @ ..], [c, d, other @ ..]) => a == d && b == c && rest == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_term_is_a_longer_one_then_a_shorter_one_then_a_slip() {
        let known = ["calendar", "calend", "kubernet", "weather", "github", "get"];
        let cases = [
            ("kube", Some("kubernet")),
            ("kubernetesx", Some("kubernet")),
            ("wether", Some("weather")),
            ("waether", Some("weather")),
            ("weatherr", Some("weather")),
            ("weazher", Some("weather")),
            ("cal", Some("calend")),
            ("githib", Some("github")),
            ("ge", None),
            ("gat", None),
            ("zzzzzz", None),
            ("", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, known.into_iter()), expected, "{wanted}");
        }
    }
}
