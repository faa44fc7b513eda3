//! The laws the compiler does not know: who may import whom, how long a file may be.

use std::collections::HashSet;

use crate::source::{self, Source};

const LONGEST_FILE: usize = 500;

/// Rooms of a crate and the rooms each may import. A room not named here may import any.
/// A new entry is an architecture decision: change ARCHITECTURE.md in the same commit.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("wire/skip", &["fault"]),
    ("wire/splice", &[]),
    ("wire/lines", &[]),
    ("catalog/place", &[]),
    ("catalog/jsonc", &["place"]),
    ("catalog/config", &["client", "jsonc", "name", "place"]),
    ("catalog/client", &["jsonc"]),
    ("catalog/name", &["client"]),
    ("catalog/listing", &["name"]),
    ("catalog/template", &[]),
    ("catalog/instructions", &["assemble", "client", "name"]),
    ("catalog/assemble", &["client", "config", "listing", "name", "template"]),
    ("gateway/limits", &[]),
    ("gateway/era", &[]),
    ("gateway/error", &["era"]),
    ("gateway/events", &[]),
    ("gateway/traces", &["events"]),
    ("gateway/gateway_info", &[]),
    ("gateway/gate", &[]),
    ("gateway/login", &[]),
    ("gateway/stream", &[]),
    ("gateway/deadlines", &["stream"]),
    ("gateway/pump", &["limits", "stream"]),
    (
        "gateway/call",
        &["deadlines", "era", "error", "events", "gate", "identity", "limits", "pump", "traces"],
    ),
    ("gateway/router", &["call", "error"]),
    ("gateway/identity", &[]),
    ("gateway/known_listings", &["limits"]),
    ("gateway/instance", &[]),
    ("gateway/embedder", &[]),
    ("gateway/finder", &["embedder", "limits", "upstream"]),
    (
        "gateway/registry",
        &[
            "call",
            "deadlines",
            "era",
            "finder",
            "gate",
            "identity",
            "instance",
            "known_listings",
            "limits",
            "upstream",
        ],
    ),
    (
        "gateway/upstream",
        &[
            "call",
            "deadlines",
            "era",
            "error",
            "events",
            "identity",
            "instance",
            "known_listings",
            "limits",
            "login",
            "pump",
            "registry",
            "stream",
            "traces",
        ],
    ),
    (
        "gateway/session",
        &[
            "call",
            "era",
            "error",
            "events",
            "finder",
            "gate",
            "gateway_info",
            "instance",
            "limits",
            "pump",
            "registry",
            "router",
            "upstream",
        ],
    ),
    (
        "gateway/front",
        &["call", "era", "error", "gate", "limits", "pump", "registry", "session", "stream"],
    ),
    ("gateway/local", &["call", "pump", "session"]),
    ("control/access", &[]),
    ("control/net", &[]),
    ("control/oauth", &["net"]),
    ("control/logins", &["oauth", "scratch"]),
    ("control/issuer", &["access", "keys", "net", "oauth", "scratch"]),
    ("control/secrets", &["api", "oauth", "scratch"]),
    ("control/keys", &["access", "api", "scratch"]),
    ("control/audit", &["api", "scratch"]),
    ("control/health", &["api", "net", "scratch"]),
    ("control/metrics", &["api"]),
    ("control/embed", &["net"]),
    ("control/llm", &["access", "net", "skills"]),
    ("control/skills", &[]),
    ("control/trace", &["access", "net"]),
    (
        "control/platform",
        &[
            "access", "api", "audit", "embed", "health", "issuer", "keys", "llm", "logins",
            "metrics", "net", "oauth", "secrets", "skills", "trace",
        ],
    ),
    (
        "gateway/fleet",
        &[
            "call",
            "embedder",
            "era",
            "error",
            "finder",
            "gate",
            "gateway_info",
            "limits",
            "pump",
            "registry",
            "session",
            "upstream",
        ],
    ),
    ("dashboard/assets", &[]),
    ("dashboard/chart", &[]),
    ("dashboard/doorman", &[]),
    ("dashboard/form", &[]),
    ("dashboard/outcome", &[]),
    ("dashboard/session", &[]),
    ("dashboard/tryit", &[]),
    ("dashboard/words", &[]),
    ("search/alias", &[]),
    ("search/definition", &["document"]),
    ("search/bytes", &[]),
    ("search/document", &["Vector"]),
    ("search/dot", &[]),
    ("search/fuse", &[]),
    ("search/words", &[]),
    ("search/pieces", &["alias", "words"]),
    ("search/terms", &["alias", "words"]),
    ("search/vector", &["dot"]),
    ("search/model", &["bytes", "document", "pieces", "vector"]),
    ("search/lexical", &["document", "nearby", "terms"]),
    ("search/calibration", &["bytes"]),
    ("search/skills", &["bytes", "calibration", "document", "model", "words"]),
    ("app/install", &["timestamp"]),
    ("app/schema", &[]),
    ("app/import", &["client", "install", "terminal"]),
    ("app/consolidate", &["import", "install", "timestamp"]),
    ("app/doctor", &["client", "install", "terminal"]),
    ("app/serve_view", &["client", "terminal"]),
    ("app/rest", &[]),
    ("app/terminal", &["console"]),
    ("app/nesting", &["environment"]),
    ("app/config_loops", &["environment"]),
    ("app/logins", &["environment"]),
    ("app/settings", &["cli", "config_loops", "environment", "logins", "nesting"]),
];

/// The crate of the test kit, without its prefix.
const KIT: &str = "tests";

/// Our crates and those each may depend on.
const MAY_DEPEND: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("http", &[]),
    ("catalog", &["wire"]),
    ("keeper", &[]),
    ("gateway", &["catalog", "http", "keeper", "search", "wire"]),
    ("search", &["wire"]),
    ("store", &[]),
    ("control", &["catalog", "gateway", "http", "search", "store", "wire"]),
    ("dashboard", &["catalog", "control", "gateway", "http", "wire"]),
    (
        "app",
        &[
            "catalog",
            "control",
            "dashboard",
            "gateway",
            "http",
            "keeper",
            "search",
            "store",
            "wire",
        ],
    ),
];

pub fn run() -> Result<(), String> {
    let mut faults = Vec::new();
    let sources = source::all()?;
    for file in &sources {
        check_plate(file, &mut faults);
        check_length(file, &mut faults);
        check_imports(file, &mut faults);
    }
    check_crates(&mut faults)?;
    check_requirements(&sources, &mut faults)?;
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn check_plate(file: &Source, faults: &mut Vec<String>) {
    if file.plate().is_none() {
        faults.push(format!("{}: starts without a `//!` line", file.path.display()));
    }
}

fn check_length(file: &Source, faults: &mut Vec<String>) {
    let lines = file.code().lines().count();
    if lines > LONGEST_FILE {
        faults.push(format!("{}: {lines} lines, at most {LONGEST_FILE}", file.path.display()));
    }
}

fn check_imports(file: &Source, faults: &mut Vec<String>) {
    let Some(room) = file.room() else { return };
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == room) else {
        return;
    };
    let own = room.rsplit('/').next().unwrap_or_default();
    for (number, line) in file.code().lines().enumerate() {
        if line.contains("super::super") {
            faults.push(format!("{}:{}: say `crate::…`", file.path.display(), number + 1));
        }
        for import in line.split("crate::").skip(1) {
            let target: String =
                import.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if target != own && !allowed.contains(&target.as_str()) {
                let place = format!("{}:{}", file.path.display(), number + 1);
                faults.push(format!("{place}: `{own}` may not import `{target}` ({allowed:?})"));
            }
        }
    }
}

fn check_crates(faults: &mut Vec<String>) -> Result<(), String> {
    for (name, allowed) in MAY_DEPEND {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest =
            std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let ours = manifest.lines().filter_map(|line| line.strip_prefix("trunkline-"));
        // The kit depends on no crate of ours; it is for tests only, which the next line sees to.
        let is_for_tests = |line: &&str| line.starts_with(KIT);
        let (product, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        if product.contains(&format!("trunkline-{KIT}")) {
            faults.push(format!("{path}: the kit is a dev-dependency"));
        }
        let ours = ours.filter(|line| !is_for_tests(line));
        for dependency in ours.filter_map(|line| line.split(['.', ' ', '=']).next()) {
            if !allowed.contains(&dependency) {
                faults.push(format!("{path}: `{name}` may not depend on `{dependency}`"));
            }
        }
    }
    Ok(())
}

/// Every test that `docs/requirements.md` names exists, and no row is without one.
fn check_requirements(sources: &[Source], faults: &mut Vec<String>) -> Result<(), String> {
    let functions: HashSet<&str> = sources
        .iter()
        .flat_map(|file| file.text.split("fn ").skip(1))
        .filter_map(|rest| Some(rest.split_once('(')?.0))
        .collect();
    let path = "docs/requirements.md";
    let page = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ID"));
    for row in rows.filter(|row| !row.starts_with("| fault")) {
        let id = row.split('|').nth(1).unwrap_or_default().trim();
        let tests = row.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2);
        let tests: Vec<&str> = tests.collect();
        if tests.is_empty() {
            faults.push(format!("{path}: {id} has no test"));
        }
        for test in tests {
            if !functions.contains(test) {
                faults.push(format!("{path}: {id}: there is no test `{test}`"));
            }
        }
    }
    Ok(())
}
