//! What one request is worth, by words alone, by meaning alone, by both, and with the teacher's vectors.

use std::collections::BTreeSet;
use std::error::Error;

use trunkline_search::{Hit, Index, Query};

use crate::sets::{self, Set};
use crate::vectors::Vectors;

/// One request's worth: NDCG@10, recall@5, recall@1, in percent.
pub(crate) type Worth = [f64; 3];

/// Of the large sets, enough for a tenth of a point.
const MOST_REQUESTS: usize = 2000;

/// How requests are compared with tools.
pub(crate) const WORDS: usize = 0;
pub(crate) const BOTH: usize = 2;
/// The teacher's whole encoder in the model's place, in the same fusion.
pub(crate) const TEACHER: usize = 4;
pub(crate) const NAMES: [&str; 5] =
    ["words (BM25F)", "meaning", "both", "MiniLM", "MiniLM and words"];

/// By way, by request.
pub(crate) type Rows = Vec<Vec<Worth>>;

pub(crate) fn measure(set: &Set, vectors: Option<&Vectors>) -> Result<Rows, Box<dyn Error>> {
    let lexical: fn(&Hit<'_>) -> f32 = |hit| hit.parts.lexical;
    let semantic: fn(&Hit<'_>) -> f32 = |hit| hit.parts.semantic;
    let score: fn(&Hit<'_>) -> f32 = |hit| hit.score;
    let mut rows =
        ranked(set, &sets::index(&set.documents, None)?, None, &[lexical, semantic, score]);
    if let Some(vectors) = vectors {
        let index = sets::index(&set.documents, Some(vectors.tools.as_slice()))?;
        rows.extend(ranked(set, &index, Some(vectors), &[semantic, score]));
    }
    Ok(rows)
}

fn ranked(
    set: &Set,
    index: &Index,
    vectors: Option<&Vectors>,
    ways: &[fn(&Hit<'_>) -> f32],
) -> Rows {
    let mut worth = vec![Vec::new(); ways.len()];
    for request in set.requests.iter().take(MOST_REQUESTS) {
        let vector = vectors.and_then(|all| all.requests.get(request.place)?.as_ref());
        let limit = set.documents.len();
        let mut hits =
            index.search(&Query { text: &request.text, limit, vector, ..Query::default() });
        for (value, rows) in ways.iter().zip(&mut worth) {
            hits.sort_by(|a, b| value(b).total_cmp(&value(a)));
            let found = hits.iter().filter(|hit| value(hit) > 0.0).take(10);
            let places: Vec<usize> = found.filter_map(|hit| hit.server.parse().ok()).collect();
            rows.push(judge(&places, &request.meant));
        }
    }
    worth
}

fn judge(found: &[usize], meant: &BTreeSet<usize>) -> Worth {
    let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
    let ideal: f64 = (0..meant.len().min(10)).map(gain).sum();
    let hit = |limit: usize| found.iter().take(limit).filter(|place| meant.contains(place)).count();
    let got: f64 = found
        .iter()
        .enumerate()
        .filter(|(_, place)| meant.contains(place))
        .map(|(at, _)| gain(at))
        .sum();
    let share = |limit| 100.0 * hit(limit) as f64 / meant.len() as f64;
    [100.0 * got / ideal, share(5), share(1)]
}

pub(crate) fn mean(rows: &[Worth]) -> Worth {
    let mut sums = [0.0; 3];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums.map(|sum| sum / rows.len().max(1) as f64)
}

pub(crate) fn shown(worth: &Worth) -> String {
    format!("{:.1} / {:.1} / {:.1}", worth[0], worth[1], worth[2])
}
