//! NDCG@10, recall@5 and recall@1 by words alone, by meaning alone, and by both.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use trunkline_search::{Hit, Index, Query};

use crate::sets::{self, Set};

/// Never trained on, and nothing was chosen by them.
const HELD_OUT: &[&str] = &["livemcp_task", "livemcp_step", "livemcp_route", "mcptoolbenchpp"];
const OTHERS: &[&str] = &[
    "bfcl_live",
    "bfcl",
    "sealtools_test_in_domain",
    "sealtools_test_out_domain",
    "metatool",
    "stabletoolbench",
];
type Way = fn(&Hit<'_>) -> f32;
const WAYS: &[Way] = &[|hit| hit.parts.lexical, |hit| hit.parts.semantic, |hit| hit.score];
/// Of the large sets, enough for a tenth of a point.
const MOST_REQUESTS: usize = 2000;

/// One request's worth: NDCG@10, recall@5, recall@1, in percent.
type Worth = [f64; 3];

pub(crate) fn report(folders: &[PathBuf], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    writeln!(
        out,
        "| set | tools | requests | words | meaning | both |\n|---|---|---|---|---|---|"
    )?;
    let mut means: Vec<Vec<Worth>> = Vec::new();
    let mut pooled: Vec<Vec<Worth>> = vec![Vec::new(); WAYS.len()];
    for name in HELD_OUT.iter().chain(OTHERS) {
        let Some(folder) = sets::find(folders, name) else {
            writeln!(out, "| {name} | not there | | | | |")?;
            continue;
        };
        let set = sets::read(&folder)?;
        let worth = measure(&set, &sets::index(&set.documents)?);
        let shown: Vec<String> = worth.iter().map(|rows| shown(&mean(rows))).collect();
        let count = worth.first().map_or(0, Vec::len);
        writeln!(out, "| {name} | {} | {count} | {} |", set.documents.len(), shown.join(" | "))?;
        if HELD_OUT.contains(name) {
            means.push(worth.iter().map(|rows| mean(rows)).collect());
        }
        if name.starts_with("livemcp") {
            pooled.iter_mut().zip(worth).for_each(|(all, rows)| all.extend(rows));
        }
    }
    let column =
        |way: usize| means.iter().filter_map(|set| set.get(way).copied()).collect::<Vec<_>>();
    let shown_means: Vec<String> = (0..WAYS.len()).map(|way| shown(&mean(&column(way)))).collect();
    writeln!(
        out,
        "| mean of the {} held-out sets | | | {} |",
        means.len(),
        shown_means.join(" | ")
    )?;
    intervals(&pooled, out)
}

fn measure(set: &Set, index: &Index) -> Vec<Vec<Worth>> {
    let mut worth = vec![Vec::new(); WAYS.len()];
    for (text, meant) in set.requests.iter().take(MOST_REQUESTS) {
        let query = Query { text, limit: set.documents.len(), ..Query::default() };
        let mut hits = index.search(&query);
        for (value, rows) in WAYS.iter().zip(&mut worth) {
            hits.sort_by(|a, b| value(b).total_cmp(&value(a)));
            let found = hits.iter().filter(|hit| value(hit) > 0.0).take(10);
            let places: Vec<usize> = found.filter_map(|hit| hit.server.parse().ok()).collect();
            rows.push(judge(&places, meant));
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

/// By drawing the requests anew, with a fixed seed.
fn intervals(pooled: &[Vec<Worth>], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let [words, _, both] = pooled else { return Ok(()) };
    let ndcg = |rows: &[Worth]| rows.iter().map(|worth| worth[0]).collect::<Vec<f64>>();
    let (words, both) = (ndcg(words), ndcg(both));
    let more: Vec<f64> = both.iter().zip(&words).map(|(a, b)| a - b).collect();
    for (what, rows) in [("both", &both), ("words", &words), ("both - words, paired", &more)] {
        let (middle, low, high) = drawn(rows);
        writeln!(
            out,
            "LiveMCPBench pooled (n = {}), NDCG@10, {what}: {middle:.1} [{low:.1}, {high:.1}]",
            rows.len()
        )?;
    }
    Ok(())
}

fn drawn(rows: &[f64]) -> (f64, f64, f64) {
    let mut state = 7u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % rows.len().max(1)
    };
    let average = |sum: f64| sum / rows.len().max(1) as f64;
    let mut means: Vec<f64> = (0..2000)
        .map(|_| average((0..rows.len()).filter_map(|_| rows.get(next())).sum()))
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |place: usize| means.get(place).copied().unwrap_or_default();
    (average(rows.iter().sum()), at(50), at(1949))
}

fn mean(rows: &[Worth]) -> Worth {
    let mut sums = [0.0; 3];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums.map(|sum| sum / rows.len().max(1) as f64)
}

fn shown(worth: &Worth) -> String {
    format!("{:.1} / {:.1} / {:.1}", worth[0], worth[1], worth[2])
}
