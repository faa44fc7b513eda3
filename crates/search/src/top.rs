//! The best few of many scores, without sorting the rest.

/// The places of the `limit` best of those that `is_open` lets in, best first; equals in the order
/// that `tie` says. Only those that may be among the best are asked about.
pub(crate) fn best<K: Ord>(
    scores: impl Iterator<Item = (u32, f32)>,
    limit: usize,
    is_open: impl Fn(u32) -> bool,
    tie: impl Fn(u32) -> K,
) -> Vec<(u32, f32)> {
    let order =
        |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then_with(|| tie(a.0).cmp(&tie(b.0)));
    if limit == 0 {
        return Vec::new();
    }
    let mut kept: Vec<(u32, f32)> = Vec::new();
    let mut least = f32::MIN_POSITIVE;
    // `for_each`: what comes in chained parts is then gone through part by part.
    scores.for_each(|(place, score)| {
        // Nearly all of a hundred thousand end at this comparison.
        if score < least || !is_open(place) {
            return;
        }
        kept.push((place, score));
        if kept.len() >= limit.saturating_mul(2).max(64) {
            kept.select_nth_unstable_by(limit - 1, order);
            kept.truncate(limit);
            least = kept.last().map_or(least, |(_, score)| *score);
        }
    });
    kept.sort_unstable_by(order);
    kept.truncate(limit);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_scores_nothing_is_no_hit() {
        let scores = [(0, 0.0), (1, 0.5), (2, 0.9), (3, 0.5)];
        assert_eq!(best(scores.into_iter(), 9, |_| true, |at| at), [(2, 0.9), (1, 0.5), (3, 0.5)]);
        assert_eq!(best(scores.into_iter(), 2, |_| true, std::cmp::Reverse), [(2, 0.9), (3, 0.5)]);
        assert_eq!(best(scores.into_iter(), 9, |at| at != 2, |at| at), [(1, 0.5), (3, 0.5)]);
        assert_eq!(best(scores.into_iter(), 0, |_| true, |at| at), []);
    }

    proptest! {
        #[test]
        fn the_best_are_the_first_of_all_sorted(
            scores in prop::collection::vec(0u8..20, 0..300), limit in 0usize..70,
        ) {
            let scores: Vec<(u32, f32)> = (0..).zip(scores.iter().map(|&s| f32::from(s))).collect();
            let mut all = scores.clone();
            all.retain(|(_, score)| *score > 0.0);
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            all.truncate(limit);
            prop_assert_eq!(best(scores.into_iter(), limit, |_| true, |at| at), all);
        }
    }
}
