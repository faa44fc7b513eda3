//! The figures of every set beside each other, and how sure they are.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::draws::interval;
use crate::quality::{BOTH, NAMES, Rows, TEACHER, WORDS, Worth, mean, measure, shown};
use crate::{sets, vectors};

/// Never trained on, and nothing was chosen by them.
const HELD_OUT: &[&str] = &["livemcp_task", "livemcp_step", "livemcp_route", "mcptoolbenchpp"];
const OTHERS: &[&str] = &[
    "natural_test",
    "bfcl_live",
    "natural_dev",
    "bfcl",
    "sealtools_test_in_domain",
    "sealtools_test_out_domain",
    "metatool",
    "stabletoolbench",
];

/// Sets that are spoken of together.
const TOGETHER: &[(&str, &[&str])] = &[
    ("mean of the four held-out sets", HELD_OUT),
    ("natural requests, held out", &["natural_test"]),
    ("natural requests, all", &["natural_dev", "natural_test"]),
    ("BFCL-live", &["bfcl_live"]),
];

/// NDCG@10, recall@5.
const MEASURES: &[(usize, &str)] = &[(0, "NDCG@10"), (1, "recall@5")];

/// A set's name and its figures.
type Measured = (&'static str, Rows);

pub(crate) fn report(
    folders: &[PathBuf],
    given: Option<&Path>,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    writeln!(out, "NDCG@10 / recall@5 / recall@1, percent")?;
    writeln!(out, "| set | tools | requests | {} |", NAMES.join(" | "))?;
    writeln!(out, "|---|---|---|{}", "---|".repeat(NAMES.len()))?;
    let mut measured: Vec<Measured> = Vec::new();
    for &name in HELD_OUT.iter().chain(OTHERS) {
        let Some(folder) = sets::find(folders, name) else {
            writeln!(out, "| {name} | not there |")?;
            continue;
        };
        let set = sets::read(&folder)?;
        let vectors = given.map_or(Ok(None), |given| vectors::read(given, name))?;
        let rows = measure(&set, vectors.as_ref())?;
        let count = rows.first().map_or(0, Vec::len);
        let cells = cells(&rows.iter().map(|rows| mean(rows)).collect::<Vec<_>>());
        writeln!(out, "| {name} | {} | {count} | {cells} |", set.documents.len())?;
        measured.push((name, rows));
    }
    means(&measured, out)?;
    for (title, names) in TOGETHER {
        intervals(title, &chosen(&measured, names), out)?;
    }
    pooled(&measured, out)
}

fn cells(worth: &[Worth]) -> String {
    worth.iter().map(shown).collect::<Vec<_>>().join(" | ")
}

fn chosen<'a>(measured: &'a [Measured], names: &[&str]) -> Vec<&'a Rows> {
    measured.iter().filter(|(name, _)| names.contains(name)).map(|(_, rows)| rows).collect()
}

fn means(measured: &[Measured], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let sets = chosen(measured, HELD_OUT);
    let ways = sets.iter().map(|rows| rows.len()).min().unwrap_or(0);
    let over = |way: usize| {
        mean(&sets.iter().filter_map(|rows| Some(mean(rows.get(way)?))).collect::<Vec<_>>())
    };
    let cells = cells(&(0..ways).map(over).collect::<Vec<_>>());
    Ok(writeln!(out, "| mean of the {} held-out sets | | | {cells} |\n", sets.len())?)
}

/// What is found by both, and how far that is from words alone and from the teacher, by request.
fn intervals(title: &str, sets: &[&Rows], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    if sets.is_empty() {
        return Ok(());
    }
    for &(at, measure) in MEASURES {
        let both = interval(&column(sets, BOTH, at));
        write!(out, "{title}, {measure}: {both}")?;
        for (way, name) in [(WORDS, "words"), (TEACHER, "MiniLM and words")] {
            if sets.iter().all(|rows| rows.len() > way) {
                let less = column(sets, way, at);
                let apart: Vec<Vec<f64>> = column(sets, BOTH, at)
                    .iter()
                    .zip(&less)
                    .map(|(both, other)| both.iter().zip(other).map(|(a, b)| a - b).collect())
                    .collect();
                write!(out, "; less {name}, paired: {}", interval(&apart))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn column(sets: &[&Rows], way: usize, at: usize) -> Vec<Vec<f64>> {
    let of = |rows: &&Rows| {
        let worths = rows.get(way).map_or(&[][..], Vec::as_slice);
        worths.iter().filter_map(|worth| worth.get(at).copied()).collect()
    };
    sets.iter().map(of).collect()
}

/// The requests of `LiveMCPBench` as one set.
fn pooled(measured: &[Measured], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let sets: Vec<&Rows> = measured
        .iter()
        .filter(|(name, _)| name.starts_with("livemcp"))
        .map(|(_, rows)| rows)
        .collect();
    let ways = sets.iter().map(|rows| rows.len()).min().unwrap_or(0);
    let all: Rows = (0..ways)
        .map(|way| sets.iter().filter_map(|rows| rows.get(way)).flatten().copied().collect())
        .collect();
    intervals("LiveMCPBench pooled", &[&all], out)
}
