//! `trunkline scan`: looks for texts that lie in the definitions of servers or of a file.

use std::path::Path;

use serde_json::{Value, json};
use trunkline_catalog::scan::{Finding, ScanContext, rules, scan_instructions, scan_listing};
use trunkline_catalog::{Exposure, ListKind, Listing};
use trunkline_gateway::Gateway;

use crate::cli::Scan;
use crate::client::{counted, line};
use crate::commands::check::{PATIENCE, started_and};
use crate::commands::runtime::{broke, refuse, start_logging};
use crate::environment::Environment;
use crate::scan_view;
use crate::settings::{self, StartOptions};
use crate::{FAILED, USAGE, console};

/// What was looked at, and what was found there.
struct Scanned {
    name: String,
    findings: Vec<Finding>,
    /// It could not be looked at.
    trouble: Option<String>,
}

/// A file may hold so many definitions of a kind.
const MOST: usize = 100_000;

pub(crate) fn run(asked: &Scan, environment: &Environment) -> u8 {
    if let Err(code) = start_logging(&asked.servers.log, environment) {
        return code;
    }
    if asked.rules {
        return tell_rules(asked.json);
    }
    let file = asked.what.as_deref().map(Path::new).filter(|path| path.is_file());
    let scanned = match file {
        Some(path) => match of_file(path) {
            Ok(scanned) => vec![scanned],
            Err(why) => return console::problem(&format!("{}: {why}\n", path.display()), USAGE),
        },
        None => match of_servers(asked, environment) {
            Ok(scanned) => scanned,
            Err(code) => return code,
        },
    };
    tell(asked, &scanned, environment)
}

fn of_file(path: &Path) -> Result<Scanned, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let value: Value =
        serde_json::from_slice(&text).map_err(|error| format!("this is not JSON: {error}"))?;
    let value = value.get("result").unwrap_or(&value);
    let mut listing = Listing::verbatim();
    let mut is_known = false;
    for kind in ListKind::ALL {
        if value.get(kind.member()).is_some_and(Value::is_array) {
            let page = value.to_string();
            listing.add_page(kind, page.as_bytes(), MOST).map_err(|error| error.to_string())?;
            is_known = true;
        }
    }
    let one = value.get("name").is_some().then(|| json!([value]));
    if let Some(tools) = one.or_else(|| value.is_array().then(|| value.clone())) {
        let page = json!({ "tools": tools }).to_string();
        listing
            .add_page(ListKind::Tools, page.as_bytes(), MOST)
            .map_err(|error| error.to_string())?;
        is_known = true;
    }
    let context = ScanContext::of(&listing);
    let mut findings = scan_listing(&listing, None, &context);
    if let Some(words) = value.get("instructions").and_then(Value::as_str) {
        findings.extend(scan_instructions(words, &context));
        is_known = true;
    }
    if !is_known {
        return Err("it has no definitions; expected a list of tools, a result of tools/list, \
                    prompts/list or resources/list, or one tool"
            .to_owned());
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let trouble = (!listing.warnings.is_empty()).then(|| listing.warnings.join("; "));
    Ok(Scanned { name: path.display().to_string(), findings, trouble })
}

fn of_servers(asked: &Scan, environment: &Environment) -> Result<Vec<Scanned>, u8> {
    let path = settings::config_path(asked.servers.config.as_deref(), environment)
        .map_err(|error| refuse(&error, environment))?;
    let wanted = StartOptions {
        patience: Some(PATIENCE),
        exposure: Exposure::Auto,
        ..StartOptions::once(&asked.servers)
    };
    let mut config =
        settings::load(&path, &wanted, environment).map_err(|error| refuse(&error, environment))?;
    if let Some(key) = &asked.what {
        if !config.servers.iter().any(|server| server.key == *key) {
            let keys: Vec<_> = config.servers.iter().map(|it| it.key.as_str()).collect();
            let keys = keys.join(", ");
            let why =
                format!("{key} is neither a file nor a server of the config; servers: {keys}\n");
            return Err(console::problem(&why, USAGE));
        }
        // The others are started as well: their names tell which are imitated.
        for server in &mut config.servers {
            if server.key == *key {
                server.disabled = false;
            }
        }
    }
    let started = started_and(&wanted, &path, config, environment, None, Gateway::scan);
    let (rows, found) = match started {
        Ok(Ok(both)) => both,
        Ok(Err(error)) => return Err(broke(&error)),
        Err(error) => return Err(refuse(&error, environment)),
    };
    let mut scanned = Vec::new();
    for row in rows.iter().filter(|row| asked.what.as_ref().is_none_or(|key| row.key == *key)) {
        let findings = found.iter().find(|server| server.key == row.key);
        let findings = findings.map(|server| server.findings.clone()).unwrap_or_default();
        let trouble = (!row.is_running()).then(|| row.summary());
        scanned.push(Scanned { name: row.key.clone(), findings, trouble });
    }
    Ok(scanned)
}

fn tell(asked: &Scan, scanned: &[Scanned], environment: &Environment) -> u8 {
    let is_bad = |it: &Scanned| it.findings.iter().any(Finding::is_shown);
    let is_broken = |it: &Scanned| it.trouble.is_some() && it.findings.is_empty();
    let good = !scanned.iter().any(|it| is_bad(it) || is_broken(it));
    let shows = |finding: &&Finding| asked.all || finding.is_shown();
    let text = if asked.json {
        let servers = scanned.iter().map(|it| {
            let findings: Vec<Value> =
                it.findings.iter().filter(shows).map(scan_view::json).collect();
            json!({ "name": it.name, "findings": findings, "trouble": it.trouble })
        });
        format!("{}\n", json!({ "ok": good, "scanned": servers.collect::<Vec<_>>() }))
    } else {
        let paint = environment.paint();
        let mut out = String::new();
        for it in scanned {
            let summary = match &it.trouble {
                Some(trouble) if it.findings.is_empty() => line(trouble),
                _ => scan_view::summary(&it.findings),
            };
            out.push_str(&format!("{}: {summary}\n", paint.bold(&line(&it.name))));
            for finding in it.findings.iter().filter(shows) {
                out.push_str(&scan_view::words(finding, paint));
            }
        }
        out
    };
    let told = console::out(&text);
    if good { told } else { FAILED }
}

fn tell_rules(as_json: bool) -> u8 {
    let text = if as_json {
        let one = |rule: &trunkline_catalog::scan::ScanRule| {
            json!({ "rule": rule.id, "severity": rule.severity.word(), "points": rule.points,
                "reason": rule.reason, "mend": rule.mend })
        };
        format!("{}\n", json!({ "rules": rules().iter().map(one).collect::<Vec<_>>() }))
    } else {
        let mut out = String::new();
        for rule in rules() {
            out.push_str(&format!("{:<7} {}: {}\n", rule.severity.word(), rule.id, rule.reason));
        }
        out.push_str(&format!("{}\n", counted(rules().len(), "rule")));
        out
    };
    console::out(&text)
}
