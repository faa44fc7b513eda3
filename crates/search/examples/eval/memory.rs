//! How much a process grows by an index, asked of a process that has done nothing else.
//!
//! What was read and thrown away before would leave room that the index then takes, and it would seem
//! to weigh next to nothing. So the tools are read line by line, and no more of them is held at a time
//! than one server's.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use trunkline_search::{Index, Model, Query};

use crate::sets::Document;

/// Measured by a process of its own, in KiB, where the system tells.
pub(crate) fn of_index(corpus: &Path, count: usize) -> Result<u64, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--memory").arg(count.to_string()).arg(corpus).stderr(Stdio::inherit());
    let said = command.output()?;
    Ok(String::from_utf8(said.stdout)?.trim().parse()?)
}

/// The other side of it: the model, the index of so many tools and what a hundred requests need.
pub(crate) fn report(
    corpus: &Path,
    count: usize,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let before = resident();
    let index = filled(corpus, count)?;
    for text in requests(corpus)? {
        std::hint::black_box(index.search(&Query { text: &text, limit: 10, ..Query::default() }));
    }
    Ok(writeln!(out, "{}", resident().saturating_sub(before))?)
}

/// The file's tools over and over, each run of lines of one server under a key of its own.
fn filled(corpus: &Path, count: usize) -> Result<Index, Box<dyn Error>> {
    let mut index = Index::new(Model::embedded()?);
    let mut run: Vec<Document> = Vec::new();
    let mut number = 0;
    while index.len() < count {
        let known = index.len();
        for line in BufReader::new(File::open(corpus)?).lines() {
            let document = Document::of(&serde_json::from_str(&line?)?);
            if run.first().is_some_and(|first| first.server != document.server) {
                put(&mut index, &mut run, &mut number, count);
            }
            run.push(document);
        }
        put(&mut index, &mut run, &mut number, count);
        if index.len() == known {
            return Err("there is no tool in it".into());
        }
    }
    Ok(index)
}

fn put(index: &mut Index, run: &mut Vec<Document>, number: &mut usize, count: usize) {
    run.truncate(count - index.len());
    if let Some(first) = run.first() {
        let tools: Vec<_> = run.iter().map(Document::tool).collect();
        index.replace_server(&format!("{} {number}", first.server), &first.server(), &tools);
        *number += 1;
    }
    run.clear();
}

fn requests(corpus: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let lines = BufReader::new(File::open(corpus)?).lines().take(100);
    lines.map(|line| Ok(Document::of(&serde_json::from_str(&line?)?).description)).collect()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
