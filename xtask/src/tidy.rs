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
    ("catalog/config", &["jsonc", "name", "place"]),
    ("catalog/name", &[]),
    ("catalog/listing", &["name"]),
    ("catalog/template", &[]),
    ("catalog/instructions", &["assemble", "name"]),
    ("catalog/assemble", &["config", "listing", "name", "template"]),
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
    ("control/secrets", &["oauth", "scratch"]),
    ("control/keys", &["access", "scratch"]),
    ("control/audit", &["clock", "scratch"]),
    ("control/fault", &[]),
    ("control/figures", &[]),
    ("control/health", &["net", "scratch"]),
    ("control/metrics", &["health"]),
    ("control/embed", &["net"]),
    ("control/llm", &["access", "net", "skills"]),
    ("control/skills", &[]),
    ("control/trace", &["access", "net"]),
    ("control/clock", &[]),
    ("control/scratch", &[]),
    (
        "control/services",
        &[
            "access", "audit", "clock", "embed", "fault", "health", "issuer", "keys", "llm",
            "logins", "metrics", "net", "oauth", "scratch", "secrets", "skills", "trace",
        ],
    ),
    (
        "control/api",
        &[
            "access", "clock", "fault", "health", "issuer", "keys", "metrics", "oauth", "scratch",
            "secrets", "services", "skills",
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
    ("app/install", &["moment"]),
    ("app/schema", &[]),
    ("app/import", &["client", "install", "terminal"]),
    ("app/consolidate", &["import", "install", "moment"]),
    ("app/doctor", &["client", "install", "terminal"]),
    ("app/overview", &["client", "terminal"]),
    ("app/rest", &[]),
    ("app/terminal", &["speak"]),
    ("app/chain", &["environment"]),
    ("app/circle", &["environment"]),
    ("app/logins", &["environment"]),
    ("app/settings", &["chain", "circle", "cli", "environment", "logins"]),
];

/// Crates whose rooms are all named above: a new room there fails until its place is decided.
const COMPLETE: &[&str] = &["control"];

/// Rooms with inner rooms, and the order of those: each may import the ones before it.
const INNER_ORDER: &[(&str, &[&str])] = &[(
    "control/services",
    &[
        "page",
        "background",
        "ids",
        "problems",
        "settings",
        "grants",
        "events",
        "directory",
        "records",
        "connections",
        "live",
        "skills",
        "tools",
        "monitor",
        "logins",
        "servers",
        "secrets",
        "activity",
        "reconcile",
        "overview",
        "gate",
        "store_lock",
        "control_plane",
        "boot",
        "maintain",
    ],
)];

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
        check_inner_order(file, &mut faults);
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
        let (name, inside) = room.split_once('/').unwrap_or((&room, ""));
        if COMPLETE.contains(&name) && inside != "lib" {
            faults.push(format!("{}: `{room}` is not in tidy's table", file.path.display()));
        }
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

fn check_inner_order(file: &Source, faults: &mut Vec<String>) {
    let Some(room) = file.room() else { return };
    let Some((_, order)) = INNER_ORDER.iter().find(|(name, _)| *name == room) else { return };
    let parts: Vec<_> = file.path.iter().skip(4).map(|part| part.to_string_lossy()).collect();
    let Some(own) = parts.first().map(|part| part.trim_end_matches(".rs")) else { return };
    if own == "mod" {
        return;
    }
    let place = |name: &str| order.iter().position(|inner| *inner == name);
    let Some(own_place) = place(own) else {
        faults.push(format!("{}: `{own}` has no place in `{room}`", file.path.display()));
        return;
    };
    // In `services/x.rs` and `services/x/mod.rs`, `super` is the room itself.
    let is_door = parts.len() == 1 || parts.get(1).is_some_and(|part| part == "mod.rs");
    let outer = format!("crate::{}::", room.rsplit('/').next().unwrap_or_default());
    for (number, line) in file.code().lines().enumerate() {
        let named = line.split(&outer).skip(1);
        let above = line.split("super::").skip(1).filter(|_| is_door);
        for import in named.chain(above) {
            let target: String =
                import.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if place(&target).is_some_and(|target| target > own_place) {
                let at = format!("{}:{}", file.path.display(), number + 1);
                faults.push(format!("{at}: `{own}` comes before `{target}` in `{room}`"));
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
