//! How long a request takes over 1,000, 10,000 and 100,000 tools, how long indexing them, and what they
//! weigh.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use trunkline_search::{Index, Model, Query, Tool};

use crate::memory;
use crate::sets::{self, Document};

pub(crate) fn report(folders: &[PathBuf], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let Some(folder) = sets::find(folders, "toucan_servers") else {
        return Ok(writeln!(out, "speed: not measured, there is no folder `toucan_servers`")?);
    };
    let corpus = folder.join("corpus.jsonl");
    let documents: Vec<Document> = sets::lines(&corpus)?.iter().map(Document::of).collect();
    let requests = requests(folders, &documents)?;
    writeln!(
        out,
        "| tools | indexing, processor time | memory | p50 | p99 | worst of {} |\n|---|---|---|---|---|---|",
        requests.len()
    )?;
    for count in [1_000, 10_000, 100_000] {
        let start = busy();
        let index = filled(&documents, count)?;
        let indexing = busy().saturating_sub(start);
        let memory = memory::of_index(&corpus, count)?.div_ceil(1024);
        let mut times: Vec<f64> = requests.iter().map(|text| quickest(&index, text)).collect();
        times.sort_by(f64::total_cmp);
        let at = |share: usize| {
            times.get((times.len() * share / 100).min(times.len() - 1)).copied().unwrap_or_default()
        };
        writeln!(
            out,
            "| {count} | {indexing:.1?} | {memory} MiB | {:.2} ms | {:.2} ms | {:.2} ms |",
            at(50),
            at(99),
            at(100)
        )?;
    }
    Ok(())
}

/// In milliseconds, the best of five: what others on the machine do is not measured.
fn quickest(index: &Index, text: &str) -> f64 {
    let query = Query { text, limit: 10, ..Query::default() };
    let once = |_| {
        let start = Instant::now();
        std::hint::black_box(index.search(&query));
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

/// The crawl's servers over and over, each time under another key, until there are enough tools.
fn filled(documents: &[Document], count: usize) -> Result<Index, Box<dyn Error>> {
    let mut index = Index::new(Model::embedded()?);
    let mut servers: BTreeMap<&str, Vec<&Document>> = BTreeMap::new();
    documents
        .iter()
        .for_each(|document| servers.entry(&document.server).or_default().push(document));
    for round in 0.. {
        for (name, documents) in &servers {
            let room = count - index.len();
            if room == 0 {
                return Ok(index);
            }
            let tools: Vec<Tool<'_>> =
                documents.iter().take(room).map(|document| document.tool()).collect();
            let Some(server) = documents.first().map(|document| document.server()) else {
                continue;
            };
            index.replace_server(&format!("{name} {round}"), &server, &tools);
        }
    }
    Ok(index)
}

/// Requests that people and agents made, if there are any; first sentences of tools otherwise.
fn requests(folders: &[PathBuf], documents: &[Document]) -> Result<Vec<String>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for name in ["livemcp_task", "livemcp_step", "livemcp_route", "bfcl_live"] {
        if let Some(folder) = sets::find(folders, name) {
            texts.extend(sets::read(&folder)?.requests.into_iter().map(|request| request.text));
        }
    }
    if texts.is_empty() {
        texts = documents.iter().step_by(50).map(|document| document.description.clone()).collect();
    }
    texts.truncate(1000);
    Ok(texts)
}

/// How long this thread has been on a processor, where the system tells.
fn busy() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
