//! `trunkline review`: shows the definitions of servers that have changed since they were approved, and approves
//! or rejects them.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_catalog::config::{OnChange, ServerSpec};
use trunkline_catalog::pins::{
    Choice, Decided, Decision, Definition, DefinitionKind, DiffLength, FieldDiff, LineChange,
    PinRecord, UnknownChoice, WaitingDefinition, diff, findings, visible,
};
use trunkline_catalog::scan::ScanPolicy;
use trunkline_gateway::{PinFiles, PinnedEntry, ReviewError};

use crate::cli::{ConfigArg, ReviewArgs, ReviewChoice, ReviewCommand, ReviewShow, Servers};
use crate::client::{counted, did_you_mean, line};
use crate::commands::runtime::refuse;
use crate::environment::Environment;
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::Paint;
use crate::timestamp::rfc3339;
use crate::{FAILED, OK, console, pins, scan_view};

pub(crate) fn run(asked: &ReviewArgs, environment: &Environment) -> u8 {
    let at = match &asked.command {
        None => &asked.at,
        Some(ReviewCommand::Approve(choice) | ReviewCommand::Reject(choice)) => &choice.at,
        Some(ReviewCommand::Show(show)) => &show.choice.at,
    };
    let Some(files) = pins::home(environment) else {
        let words = "error: nothing is pinned: set HOME or XDG_STATE_HOME to an absolute path\n";
        return console::problem(words, FAILED);
    };
    let reviewed = match reviewed(at, environment, &files) {
        Ok(reviewed) => reviewed,
        Err(error) => return refuse(&error, environment),
    };
    match &asked.command {
        None => {
            let shown: Vec<_> = reviewed.iter().collect();
            show(
                &files,
                &shown,
                &[],
                &ShownAs::new(at.json, DiffLength::Short, environment.paint()),
            )
        }
        Some(ReviewCommand::Show(asked)) => {
            let length = if asked.full { DiffLength::Whole } else { DiffLength::Short };
            show_some(&files, &reviewed, asked, &ShownAs::new(at.json, length, environment.paint()))
        }
        Some(ReviewCommand::Approve(choice)) => {
            decide(&files, &reviewed, choice, Decision::Approve)
        }
        Some(ReviewCommand::Reject(choice)) => decide(&files, &reviewed, choice, Decision::Reject),
    }
}

/// What is pinned of one server of the config.
pub(crate) struct Reviewed {
    key: String,
    on_change: OnChange,
    entry: PinnedEntry,
    scan: ScanPolicy,
    pins: ServerPins,
}

/// How what waits is shown.
struct ShownAs {
    in_json: bool,
    length: DiffLength,
    paint: Paint,
}

impl ShownAs {
    fn new(in_json: bool, length: DiffLength, paint: Paint) -> Self {
        Self { in_json, length, paint }
    }

    /// What a definition is called when somebody decides on it. The whole hash stands only where every line does.
    fn item(&self, definition: &Definition) -> String {
        match self.length {
            DiffLength::Short => definition.item(),
            DiffLength::Whole => definition.whole_item(),
        }
    }
}

enum ServerPins {
    /// It was never started.
    Nothing,
    Record(Box<PinRecord>),
    /// In words.
    Unreadable(String),
}

impl Reviewed {
    pub(crate) fn of(spec: &ServerSpec, files: &PinFiles) -> Self {
        let entry = PinnedEntry::of(spec);
        let pins = match files.record(&entry) {
            Ok(None) => ServerPins::Nothing,
            Ok(Some(record)) => ServerPins::Record(Box::new(record)),
            Err(why) => ServerPins::Unreadable(why),
        };
        let on_change = spec.texts.on_change.unwrap_or_default();
        let scan = spec.texts.scan.clone();
        Self { key: spec.key.clone(), on_change, entry, scan, pins }
    }

    fn waiting(&self) -> &[WaitingDefinition] {
        match &self.pins {
            ServerPins::Record(record) => &record.waiting,
            ServerPins::Nothing | ServerPins::Unreadable(_) => &[],
        }
    }

    /// How many definitions nobody has decided on.
    pub(crate) fn undecided(&self) -> usize {
        self.waiting().iter().filter(|it| !it.is_rejected).count()
    }
}

fn reviewed(
    at: &ConfigArg,
    environment: &Environment,
    files: &PinFiles,
) -> Result<Vec<Reviewed>, SettingsError> {
    let path = settings::config_path(at.config.as_deref(), environment)?;
    of_config(&path, environment, files)
}

/// The servers of a config that are switched on, with what is pinned of them.
pub(crate) fn of_config(
    path: &Path,
    environment: &Environment,
    files: &PinFiles,
) -> Result<Vec<Reviewed>, SettingsError> {
    let flags = Servers::default();
    let config = settings::load(path, &StartOptions::once(&flags), environment)?;
    let wanted = config.servers.iter().filter(|spec| !spec.disabled);
    Ok(wanted.map(|spec| Reviewed::of(spec, files)).collect())
}

/// `review show SERVER [ITEM…]`.
fn show_some(files: &PinFiles, reviewed: &[Reviewed], asked: &ReviewShow, how: &ShownAs) -> u8 {
    let server = match named(reviewed, &asked.choice.server) {
        Ok(server) => server,
        Err(words) => return console::problem(&words, FAILED),
    };
    let choices: Vec<_> = asked.choice.items.iter().map(|item| Choice::read(item)).collect();
    for (choice, item) in choices.iter().zip(&asked.choice.items) {
        if !server.waiting().iter().any(|it| choice.names(&it.definition)) {
            let words = format!("error: nothing called `{}` waits\n", visible(item));
            return console::problem(&words, FAILED);
        }
    }
    show(files, &[server], &choices, how)
}

fn named<'r>(reviewed: &'r [Reviewed], key: &str) -> Result<&'r Reviewed, String> {
    reviewed.iter().find(|it| it.key == key).ok_or_else(|| {
        let near = did_you_mean(key, reviewed.iter().map(|it| it.key.as_str()));
        format!("error: there is no server `{}`{near}\n", line(key))
    })
}

fn show(files: &PinFiles, reviewed: &[&Reviewed], choices: &[Choice], how: &ShownAs) -> u8 {
    let is_chosen = |it: &&WaitingDefinition| {
        choices.is_empty() || choices.iter().any(|choice| choice.names(&it.definition))
    };
    for server in reviewed {
        let shown = server.waiting().iter().filter(is_chosen).map(|it| it.definition.hash.as_str());
        let shown: Vec<&str> = shown.collect();
        if shown.is_empty() {
            continue;
        }
        if let Err(error) = files.note_shown(&server.entry, &shown) {
            let why = format!("what is shown here can be approved by its hash only: {error}");
            console::problem(&format!("warning: {why}\n"), OK);
        }
    }
    let waiting: usize = reviewed.iter().map(|it| it.undecided()).sum();
    if how.in_json {
        let servers = reviewed.iter().map(|server| {
            let chosen = server.waiting().iter().filter(is_chosen).collect::<Vec<_>>();
            to_json(server, &chosen, how)
        });
        let servers: Vec<Value> = servers.collect();
        return console::out(&format!("{}\n", json!({ "waiting": waiting, "servers": servers })));
    }
    let mut text = String::new();
    for server in reviewed {
        if let ServerPins::Unreadable(why) = &server.pins {
            let key = how.paint.bold(&line(&server.key));
            text += &format!("{key}: what was approved cannot be read: {why}\n\n");
        }
        let ServerPins::Record(record) = &server.pins else { continue };
        for waiting in record.waiting.iter().filter(is_chosen) {
            text += &in_words(server, record, waiting, how);
        }
    }
    if text.is_empty() {
        return console::out("nothing waits: every definition is as it was approved\n");
    }
    text += &format!(
        "{} to decide on: `trunkline review approve SERVER [ITEM]`, or `reject`\n",
        counted(waiting, "definition")
    );
    console::out(&text)
}

fn in_words(
    server: &Reviewed,
    record: &PinRecord,
    waiting: &WaitingDefinition,
    how: &ShownAs,
) -> String {
    let (definition, paint) = (&waiting.definition, how.paint);
    let pin = record.pin(definition);
    let state = match (waiting.is_rejected, waiting.is_withheld(server.on_change)) {
        (true, _) => "rejected, not shown",
        (false, true) => "held, not shown",
        (false, false) => "shown to clients",
    };
    let reason = match waiting.reason.note() {
        Some(note) => format!("{}: {}", waiting.reason.word(), visible(note)),
        None => waiting.reason.word().to_owned(),
    };
    let mut out = format!(
        "{} {}  {reason}; {state}; noticed {}\n",
        paint.bold(&line(&server.key)),
        paint.bold(&visible(&how.item(definition))),
        moment(waiting.noticed),
    );
    let identity = (pin.and_then(|pin| pin.identity.as_deref()), waiting.identity.as_deref());
    if let (Some(before), Some(now)) = identity
        && before != now
    {
        out += &format!("  {} \u{2192} {}\n", visible(before), visible(now));
    }
    for finding in findings(definition, record, &server.scan).iter().filter(|it| it.is_shown()) {
        out += &scan_view::words(finding, paint);
    }
    out += &difference(server, record, definition, how);
    out.push('\n');
    out
}

fn difference(
    server: &Reviewed,
    record: &PinRecord,
    definition: &Definition,
    how: &ShownAs,
) -> String {
    let Some(after) = definition.bytes.as_deref() else {
        let hash = &definition.hash;
        return format!(
            "  its text is not kept: a secret stands in it, or it is too long; hash {hash}\n"
        );
    };
    let before = record.base(definition);
    let mut out = String::new();
    if record.pin(definition).is_some() && before.is_none() {
        out += "  this is all of it: there is no other text to compare it with\n";
    }
    let fields = diff(before, Some(after), how.length);
    for field in &fields {
        out += &field_in_words(field, definition.kind, how.paint);
    }
    if fields.iter().any(FieldDiff::is_cut) {
        let item = visible(&definition.item());
        out += &format!(
            "  to approve it, read the rest: `trunkline review show {} {item} --full`\n",
            line(&server.key)
        );
    }
    out
}

fn field_in_words(field: &FieldDiff, kind: DefinitionKind, paint: Paint) -> String {
    let name = if field.field.is_empty() { kind.word() } else { &field.field };
    let mut out = format!("  {}:\n", visible(name));
    for diff_line in &field.lines {
        let pieces = diff_line.pieces.iter().map(|(is_changed, text)| match is_changed {
            true => paint.bold(text),
            false => text.clone(),
        });
        let text: String = pieces.collect();
        let shown = format!("    {} {text}", diff_line.change.sign());
        out += &match diff_line.change {
            LineChange::Same => shown,
            LineChange::Removed => paint.red(&shown),
            LineChange::Added => paint.green(&shown),
            LineChange::Skipped(count) => {
                paint.dim(&format!("      ({} as before)", counted(count, "line")))
            }
            LineChange::Cut(count) => {
                paint.bold(&format!("      ({} more, not shown here)", counted(count, "line")))
            }
        };
        out.push('\n');
    }
    out
}

fn to_json(server: &Reviewed, chosen: &[&WaitingDefinition], how: &ShownAs) -> Value {
    let record = match &server.pins {
        ServerPins::Record(record) => Some(record),
        ServerPins::Nothing | ServerPins::Unreadable(_) => None,
    };
    let waiting = chosen.iter().map(|waiting| {
        let definition = &waiting.definition;
        let pin = record.and_then(|record| record.pin(definition));
        let before = record.and_then(|record| record.base(definition));
        let diff = diff(before, definition.bytes.as_deref(), how.length);
        let found = record.map(|record| findings(definition, record, &server.scan));
        let found: Vec<Value> = found.unwrap_or_default().iter().map(scan_view::json).collect();
        let fields = diff.iter().map(|field| {
            let lines = field.lines.iter().map(|it| format!("{}{}", it.change.sign(), it.text()));
            json!({ "field": field.field, "lines": lines.collect::<Vec<_>>() })
        });
        json!({
            "item": how.item(definition),
            "kind": definition.kind.word(),
            "name": definition.name,
            "reason": waiting.reason.word(),
            "note": waiting.reason.note(),
            "hash": definition.hash,
            "cut": record.is_some_and(|record| record.is_cut(waiting)),
            "findings": found,
            "approved_hash": pin.map(|pin| pin.definition.hash.clone()),
            "version": waiting.identity,
            "approved_version": pin.and_then(|pin| pin.identity.clone()),
            "noticed_at": moment(waiting.noticed),
            "held": waiting.is_withheld(server.on_change),
            "rejected": waiting.is_rejected,
            "diff": fields.collect::<Vec<_>>(),
        })
    });
    let problem = match &server.pins {
        ServerPins::Unreadable(why) => Some(why),
        ServerPins::Nothing | ServerPins::Record(_) => None,
    };
    json!({
        "name": server.key,
        "on_change": server.on_change.word(),
        "pinned": record.map(|record| record.pins.len()),
        "problem": problem,
        "waiting": waiting.collect::<Vec<_>>(),
    })
}

fn decide(
    files: &PinFiles,
    reviewed: &[Reviewed],
    choice: &ReviewChoice,
    decision: Decision,
) -> u8 {
    let failed = |words: &str| console::problem(&format!("error: {words}\n"), FAILED);
    let server = match named(reviewed, &choice.server) {
        Ok(server) => server,
        Err(words) => return console::problem(&words, FAILED),
    };
    if let ServerPins::Unreadable(why) = &server.pins {
        let words = format!(
            "what was approved cannot be read: {why}; start the server once: it is asked what it lists"
        );
        return failed(&words);
    }
    if server.waiting().is_empty() {
        return failed(&format!("nothing of `{}` waits", line(&server.key)));
    }
    let choices: Vec<_> = choice.items.iter().map(|item| Choice::read(item)).collect();
    let decided = match files.decide(&server.entry, decision, &choices) {
        Ok(decided) => decided,
        Err(error @ ReviewError::Unknown(UnknownChoice::Unseen { .. })) => {
            let key = line(&server.key);
            return failed(&format!("{error}: `trunkline review show {key} ITEM --full`"));
        }
        Err(error @ ReviewError::Unknown(UnknownChoice::NotShown { .. })) => {
            return failed(&format!("{error}: `trunkline review`"));
        }
        Err(error) => {
            let all: Vec<_> =
                server.waiting().iter().map(|it| visible(&it.definition.item())).collect();
            return failed(&format!("{error}; these wait: {}", all.join(", ")));
        }
    };
    if decided.is_empty() {
        return failed("everything that waits was rejected before: name what you want to approve");
    }
    if choice.at.json {
        let all: Vec<Value> = decided.iter().map(decided_json).collect();
        let told = json!({ "server": server.key, "decision": decision.done(), "decided": all });
        return console::out(&format!("{told}\n"));
    }
    let mut text = String::new();
    for it in &decided {
        let name =
            if it.name.is_empty() { String::new() } else { format!(" {}", visible(&it.name)) };
        let hash = it.after.get(..16).unwrap_or(&it.after);
        text += &format!(
            "{} {}{name} of {} ({hash})\n",
            decision.done(),
            it.kind.word(),
            line(&server.key)
        );
    }
    console::out(&text)
}

fn decided_json(it: &Decided) -> Value {
    json!({
        "kind": it.kind.word(),
        "name": it.name,
        "approved_hash": it.before,
        "hash": it.after,
    })
}

fn moment(seconds: u64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_secs(seconds.min(LATEST)))
}

/// The end of the year 9999: a damaged record must not make an impossible date.
const LATEST: u64 = 253_402_300_799;
