//! Measures the scanner: what it finds in the poisoned set, and what it holds against honest definitions.
//!
//! `scan_quality [--data DIR]... [--show]`: DIR has sets of honest definitions (docs/security.md says which).
//! `--show` prints what was missed and what was wrongly found in the part that rules may be tuned on; the
//! held-out part is only ever counted.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program, not part of the product"
)]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use trunkline_catalog::scan::{
    Finding, ItemKind, ScanContext, ScannedServer, Severity, scan_catalog, scan_definition,
    scan_instructions,
};
use trunkline_catalog::{ListKind, Listing};

fn main() {
    let mut folders = Vec::new();
    let mut show = false;
    let mut args = std::env::args().skip(1);
    while let Some(argument) = args.next() {
        match argument.as_str() {
            "--data" => folders.extend(args.next().map(PathBuf::from)),
            "--show" => show = true,
            other => println!("unknown argument {other}"),
        }
    }
    let sets = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scan/testdata");
    let poisoned = own_set(&sets.join("poisoned.jsonl"));
    let honest = own_set(&sets.join("honest.jsonl"));
    let fresh = own_set(&sets.join("fresh.jsonl"));
    by_class("poisoned: found", &poisoned, show, true);
    by_class("poisoned, written after the rules: found", &fresh, show, true);
    by_class("hard honest: wrongly found", &honest, show, false);
    for folder in folders {
        corpora(&folder, show);
    }
}

struct Case {
    class: String,
    held_out: bool,
    name: String,
    text: String,
    worst: Option<Severity>,
    findings: Vec<Finding>,
}

fn own_set(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| case(&serde_json::from_str(line).unwrap())).collect()
}

/// The other servers of everybody's catalog.
fn neighbours() -> Listing {
    let names = [
        "read_file",
        "write_file",
        "delete_file",
        "list_directory",
        "send_email",
        "read_email",
        "create_issue",
        "create_pull_request",
        "delete_repository",
        "execute_sql",
        "search_web",
        "get_weather",
        "execute_command",
        "transfer_money",
        "book_flight",
        "memory_store",
        "send_message",
        "send_file",
        "run_tests",
        "google_maps",
    ];
    let tools: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "description": "Does it."})).collect();
    listing("tools", &json!(tools))
}

fn listing(member: &str, items: &Value) -> Listing {
    let kind = if member == "tools" { ListKind::Tools } else { ListKind::Prompts };
    let mut listing = Listing::default();
    listing.add_page(kind, json!({member: items}).to_string().as_bytes(), 100_000).unwrap();
    listing
}

fn case(line: &Value) -> Case {
    let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let (name, description) = (text("name"), text("description"));
    let params = line["params"].as_object().unwrap();
    let others = neighbours();
    let around = ScannedServer { key: "around", listing: &others, instructions: None };
    let empty = Listing::default();
    let mut findings = match text("kind").as_str() {
        "instructions" => {
            let own =
                ScannedServer { key: "own", listing: &empty, instructions: Some(&description) };
            scan_catalog(&[own, around]).swap_remove(0)
        }
        kind => {
            let item = match kind {
                "prompt" => {
                    let arguments: Vec<Value> = params
                        .iter()
                        .map(|(name, about)| json!({"name": name, "description": about}))
                        .collect();
                    json!({"name": name, "description": description, "arguments": arguments})
                }
                _ => tool(
                    &name,
                    &description,
                    params.iter().map(|(n, d)| (n.as_str(), d.as_str().unwrap_or_default())),
                ),
            };
            let member = if kind == "prompt" { "prompts" } else { "tools" };
            let own = listing(member, &json!([item]));
            // A name that is refused never reaches anybody: that counts as found.
            let own = ScannedServer { key: "own", listing: &own, instructions: None };
            scan_catalog(&[own, around]).swap_remove(0)
        }
    };
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Case {
        class: text("class"),
        held_out: line["held_out"] == json!(true),
        worst: findings.first().map(|finding| finding.severity),
        name,
        text: description,
        findings,
    }
}

fn tool<'a>(
    name: &str,
    description: &str,
    params: impl Iterator<Item = (&'a str, &'a str)>,
) -> Value {
    let properties: serde_json::Map<String, Value> = params
        .map(|(name, about)| (name.to_owned(), json!({"type": "string", "description": about})))
        .collect();
    json!({"name": name, "description": description,
        "inputSchema": {"type": "object", "properties": properties}})
}

/// By class: how many reach medium and high, for the part that is tuned on and the part that is held out.
fn by_class(title: &str, cases: &[Case], show: bool, is_poisoned: bool) {
    println!("\n{title}");
    println!(
        "{:<16} {:>5} {:>8} {:>8}   {:>5} {:>8} {:>8}",
        "class", "tune", "medium", "high", "held", "medium", "high"
    );
    let mut classes: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        classes.entry(&case.class).or_default().push(case);
        classes.entry("~all").or_default().push(case);
    }
    for (class, cases) in &classes {
        let part = |held| cases.iter().filter(move |case| case.held_out == held);
        let share = |held: bool, from: Severity| {
            let found = part(held).filter(|case| case.worst >= Some(from)).count();
            let all = part(held).count();
            format!("{found} {:.1}%", 100.0 * found as f64 / all.max(1) as f64)
        };
        println!(
            "{class:<16} {:>5} {:>8} {:>8}   {:>5} {:>8} {:>8}",
            part(false).count(),
            share(false, Severity::Medium),
            share(false, Severity::High),
            part(true).count(),
            share(true, Severity::Medium),
            share(true, Severity::High)
        );
    }
    if show {
        for case in cases.iter().filter(|case| !case.held_out) {
            let is_shown = case.worst >= Some(Severity::Medium);
            if is_shown != is_poisoned {
                print_case(case);
            }
        }
    }
}

fn print_case(case: &Case) {
    let signs: Vec<&str> = case.findings.iter().map(|finding| finding.rule.id.as_str()).collect();
    let worst = case.worst.map_or("-", Severity::word);
    let text: String = case.text.chars().take(300).collect();
    println!("  {worst:<6} {} {}: {text:?} {signs:?}", case.class, case.name);
}

/// The honest sets of a folder: `*/corpus.jsonl`, and servers' own words in `*/servers.jsonl`.
fn corpora(folder: &Path, show: bool) {
    let mut seen = HashSet::new();
    let mut total = BTreeMap::<bool, (usize, usize, usize)>::new();
    let mut folders: Vec<_> =
        std::fs::read_dir(folder).unwrap().flatten().map(|it| it.path()).collect();
    folders.sort();
    let (mut spent, mut scanned, mut bytes) = (0.0, 0, 0);
    for set in folders {
        let Ok(text) = std::fs::read_to_string(set.join("corpus.jsonl")) else { continue };
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut own: BTreeMap<&str, HashSet<String>> = BTreeMap::new();
        for line in &lines {
            let server = line["server"].as_str().unwrap_or_default();
            own.entry(server).or_default().insert(line["name"].as_str().unwrap().to_lowercase());
        }
        let (mut medium, mut high, mut all) = (0, 0, 0);
        let mut contexts: BTreeMap<&str, ScanContext> = BTreeMap::new();
        for line in &lines {
            let name = line["name"].as_str().unwrap();
            let description = line["description"].as_str().unwrap_or_default();
            if !seen.insert(format!("{name}\n{description}")) {
                continue;
            }
            let pairs = line["params"].as_array().unwrap();
            let params = pairs.iter().map(|pair| {
                (pair[0].as_str().unwrap_or_default(), pair[1].as_str().unwrap_or_default())
            });
            let definition = tool(name, description, params).to_string();
            let server = line["server"].as_str().unwrap_or_default();
            let context = contexts.entry(server).or_insert_with(|| ScanContext {
                own: own[server].clone(),
                others: HashSet::new(),
            });
            let begun = Instant::now();
            let findings = scan_definition(ItemKind::Tool, name, definition.as_bytes(), context);
            spent += begun.elapsed().as_secs_f64();
            scanned += 1;
            bytes += definition.len();
            let held_out = is_held_out(name, description);
            let worst = findings.first().map(|finding| finding.severity);
            all += 1;
            medium += usize::from(worst >= Some(Severity::Medium));
            high += usize::from(worst >= Some(Severity::High));
            let sums = total.entry(held_out).or_default();
            sums.0 += 1;
            sums.1 += usize::from(worst >= Some(Severity::Medium));
            sums.2 += usize::from(worst >= Some(Severity::High));
            if show && !held_out && worst >= Some(Severity::Medium) {
                let shown = findings.iter().filter(|f| f.severity >= Severity::Low);
                let signs: Vec<String> =
                    shown.map(|f| format!("{}<{}>", f.rule.id, f.excerpt)).collect();
                println!("  {} {name}: {signs:?}", worst.map_or("-", Severity::word));
            }
        }
        println!(
            "{:<28} {all:>6} medium {medium} high {high}",
            set.file_name().unwrap().to_string_lossy()
        );
    }
    for (held_out, (all, medium, high)) in total {
        let part = if held_out { "held out" } else { "tune" };
        println!(
            "honest, {part}: {all}, medium {medium} ({:.2}%), high {high} ({:.2}%)",
            100.0 * medium as f64 / all as f64,
            100.0 * high as f64 / all as f64
        );
    }
    println!(
        "{:.1} µs a definition, {:.0} MB/s",
        spent * 1e6 / f64::from(scanned),
        bytes as f64 / spent / 1e6
    );
    servers(folder, show);
}

/// What servers say of themselves, read like instructions.
fn servers(folder: &Path, show: bool) {
    let (mut all, mut medium, mut high) = (0, 0, 0);
    for file in ["toucan_servers/servers.jsonl", "classify/awesome_servers.jsonl"] {
        let Ok(text) = std::fs::read_to_string(folder.join(file)) else { continue };
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let Some(words) = line["description"].as_str().or(line["desc"].as_str()) else {
                continue;
            };
            let findings = scan_instructions(words, &ScanContext::default());
            let worst = findings.first().map(|finding| finding.severity);
            all += 1;
            medium += usize::from(worst >= Some(Severity::Medium));
            high += usize::from(worst >= Some(Severity::High));
            if show && worst >= Some(Severity::Medium) && !is_held_out("", words) {
                let signs: Vec<String> =
                    findings.iter().map(|f| format!("{}<{}>", f.rule.id, f.excerpt)).collect();
                println!("  {} {signs:?}", worst.map_or("-", Severity::word));
            }
        }
    }
    println!("servers' own words: {all}, medium {medium}, high {high}");
}

/// A third, by the text itself: adding a definition changes no other's part.
fn is_held_out(name: &str, description: &str) -> bool {
    // FNV-1a: stable across runs and machines.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes().chain(description.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash.is_multiple_of(3)
}
