//! Circles among things that need each other: the strongly connected components of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// The components with more than one member, largest first.
pub fn components<T: Ord + Copy>(edges: &BTreeSet<(T, T)>) -> Vec<Vec<T>> {
    let mut next: BTreeMap<T, Vec<T>> = BTreeMap::new();
    let mut back: BTreeMap<T, Vec<T>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(*from).or_default().push(*to);
        back.entry(*to).or_default().push(*from);
    }
    // Kosaraju: in the order in which a walk leaves them, walked backwards.
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for start in next.keys() {
        walk(*start, &next, &mut seen, &mut order);
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for start in order.iter().rev() {
        let mut members = Vec::new();
        walk(*start, &back, &mut seen, &mut members);
        if members.len() > 1 {
            members.sort();
            found.push(members);
        }
    }
    found.sort_by_key(|members| std::cmp::Reverse(members.len()));
    found
}

/// How many are in the largest circle; 0 if there is none.
pub fn largest<T: Ord + Copy>(edges: &BTreeSet<(T, T)>) -> usize {
    components(edges).first().map_or(0, Vec::len)
}

/// All that can be reached and was not seen, in the order in which it is left.
fn walk<T: Ord + Copy>(
    from: T,
    next: &BTreeMap<T, Vec<T>>,
    seen: &mut BTreeSet<T>,
    left: &mut Vec<T>,
) {
    if !seen.insert(from) {
        return;
    }
    for to in next.get(&from).into_iter().flatten() {
        walk(*to, next, seen, left);
    }
    left.push(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_chains_are_none() {
        for (edges, expected) in [
            (&[("a", "b"), ("b", "c")][..], &[][..]),
            (&[("a", "b"), ("b", "a"), ("b", "c")], &[vec!["a", "b"]]),
            (
                &[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d")],
                &[vec!["a", "b", "c"], vec!["d", "e"]],
            ),
        ] {
            let edges: BTreeSet<(&str, &str)> = edges.iter().copied().collect();
            assert_eq!(components(&edges), expected);
            assert_eq!(largest(&edges), expected.first().map_or(0, Vec::len));
        }
    }
}
