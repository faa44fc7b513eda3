//! The skills of tools whose servers the classifier was not made from.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use trunkline_search::{Classifier, Judgement, Model, Tool};

use crate::sets::{self, Document};

/// `search/train/head.py` splits the servers; these are the ones it only measures on.
const SPLIT: u32 = 24;
const TEST: u32 = 6;

/// What was said of a tool, its label, and every label somebody could defend.
struct Case {
    said: Vec<Judgement>,
    label: String,
    fitting: BTreeSet<String>,
}

pub(crate) fn report(folders: &[PathBuf], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let Some(folder) = sets::find(folders, "classify") else {
        return Ok(writeln!(out, "skills: not measured, there is no folder `classify`")?);
    };
    let cases = judged(&sets::lines(&folder.join("toucan_tools.jsonl"))?)?;
    let share = |count: usize, of: usize| count as f64 / of.max(1) as f64;
    let first = |case: &Case| case.said.first().map_or("", |one| one.skill).to_owned();
    let right = cases.iter().filter(|case| first(case) == case.label).count();
    let among =
        cases.iter().filter(|case| case.said.iter().any(|one| one.skill == case.label)).count();
    let fits = cases.iter().filter(|case| case.fitting.contains(&first(case))).count();
    let sure: Vec<&Case> = cases
        .iter()
        .filter(|case| case.said.first().is_some_and(|one| one.confidence >= 0.5))
        .collect();
    let sure_fits = sure.iter().filter(|case| case.fitting.contains(&first(case))).count();
    let all = cases.len();
    writeln!(
        out,
        "skills ({all} tools of held-out servers): first right {:.3}, among those said {:.3}, first acceptable {:.3}",
        share(right, all),
        share(among, all),
        share(fits, all)
    )?;
    writeln!(
        out,
        "  confidence >= .5: {:.3} of tools, {:.3} of them acceptable; calibration error {:.3}; macro-F1 {:.3}; skills a tool {:.2}",
        share(sure.len(), all),
        share(sure_fits, sure.len()),
        calibration_error(&cases, &first),
        macro_f1(&cases, &first),
        share(cases.iter().map(|case| case.said.len()).sum(), all)
    )?;
    Ok(())
}

fn judged(rows: &[Value]) -> Result<Vec<Case>, Box<dyn Error>> {
    let (model, classifier) = (Model::embedded()?, Classifier::embedded()?);
    let mut servers: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for row in rows {
        let server = row["server_id"].as_str().unwrap_or_default();
        if side(server) < TEST {
            servers.entry(server).or_default().push(row);
        }
    }
    let mut cases = Vec::new();
    for rows in servers.values() {
        let documents: Vec<Document> = rows.iter().map(|row| Document::of(row)).collect();
        let tools: Vec<Tool<'_>> = documents.iter().map(Document::tool).collect();
        let Some(server) = documents.first().map(Document::server) else { continue };
        for (said, row) in classifier.classify(model, &server, &tools).into_iter().zip(rows) {
            let label = row["skill"].as_str().unwrap_or_default().to_owned();
            let others =
                row["secondary"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let fitting = others.map(str::to_owned).chain([label.clone()]).collect();
            cases.push(Case { said, label, fitting });
        }
    }
    Ok(cases)
}

/// FNV-1a, as the training side has it.
fn side(server: &str) -> u32 {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    server.bytes().fold(0x811C_9DC5, mix) % SPLIT
}

/// Ten bins of confidence: how far what was said is from what was so.
fn calibration_error(cases: &[Case], first: &impl Fn(&Case) -> String) -> f64 {
    let mut bins = [(0.0f64, 0.0f64, 0.0f64); 10];
    for case in cases {
        let Some(one) = case.said.first() else { continue };
        let confidence = f64::from(one.confidence);
        let place = bins.iter().enumerate().rev().find(|(at, _)| confidence >= *at as f64 / 10.0);
        let Some(at) = place.map(|(at, _)| at) else { continue };
        if let Some((count, said, so)) = bins.get_mut(at) {
            *count += 1.0;
            *said += confidence;
            *so += f64::from(u8::from(case.fitting.contains(&first(case))));
        }
    }
    bins.iter().map(|(_, said, so)| (said - so).abs()).sum::<f64>() / cases.len().max(1) as f64
}

fn macro_f1(cases: &[Case], first: &impl Fn(&Case) -> String) -> f64 {
    let labels: BTreeSet<&str> = cases.iter().map(|case| case.label.as_str()).collect();
    let f1 = |label: &str| {
        let said = cases.iter().filter(|case| first(case) == label).count();
        let so = cases.iter().filter(|case| case.label == label).count();
        let both = cases.iter().filter(|case| case.label == label && first(case) == label).count();
        2.0 * both as f64 / (said + so).max(1) as f64
    };
    labels.iter().map(|label| f1(label)).sum::<f64>() / labels.len().max(1) as f64
}
