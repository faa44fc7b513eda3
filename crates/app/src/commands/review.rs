//! `trunkline review`: shows the definitions of servers that have changed since they were approved, and approves
//! or rejects them.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline_catalog::config::{OnChange, ServerSpec};
use trunkline_catalog::pins::{
    Choice, Decided, Decision, DefinitionKind, FieldDiff, LineChange, PinRecord, WaitingDefinition,
    diff, visible,
};
use trunkline_gateway::{PinFiles, PinnedEntry};

use crate::cli::{ConfigArg, ReviewArgs, ReviewChoice, ReviewCommand, Servers};
use crate::client::{counted, did_you_mean, line};
use crate::commands::runtime::refuse;
use crate::environment::Environment;
use crate::settings::{self, SettingsError, StartOptions};
use crate::terminal::Paint;
use crate::timestamp::rfc3339;
use crate::{FAILED, console, pins};

pub(crate) fn run(asked: &ReviewArgs, environment: &Environment) -> u8 {
    let at = match &asked.command {
        None => &asked.at,
        Some(ReviewCommand::Approve(choice) | ReviewCommand::Reject(choice)) => &choice.at,
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
        None => show(&reviewed, at.json, environment.paint()),
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
    pins: ServerPins,
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
        Self { key: spec.key.clone(), on_change, entry, pins }
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

fn show(reviewed: &[Reviewed], in_json: bool, paint: Paint) -> u8 {
    if in_json {
        let servers: Vec<Value> = reviewed.iter().map(to_json).collect();
        let waiting: usize = reviewed.iter().map(Reviewed::undecided).sum();
        return console::out(&format!("{}\n", json!({ "waiting": waiting, "servers": servers })));
    }
    let mut text = String::new();
    for server in reviewed {
        if let ServerPins::Unreadable(why) = &server.pins {
            let key = line(&server.key);
            text += &format!("{}: what was approved cannot be read: {why}\n\n", paint.bold(&key));
        }
        let ServerPins::Record(record) = &server.pins else { continue };
        for waiting in &record.waiting {
            text += &in_words(server, record, waiting, paint);
        }
    }
    let waiting: usize = reviewed.iter().map(Reviewed::undecided).sum();
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
    paint: Paint,
) -> String {
    let definition = &waiting.definition;
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
        paint.bold(&visible(&definition.item())),
        moment(waiting.noticed),
    );
    let identity = (pin.and_then(|pin| pin.identity.as_deref()), waiting.identity.as_deref());
    if let (Some(before), Some(now)) = identity
        && before != now
    {
        out += &format!("  {} \u{2192} {}\n", visible(before), visible(now));
    }
    let before = pin.and_then(|pin| pin.definition.bytes.as_deref());
    if definition.bytes.is_none() || (pin.is_some() && before.is_none()) {
        out += "  its text is not kept: a secret stands in it, or it is too long\n\n";
        return out;
    }
    for field in diff(before, definition.bytes.as_deref()) {
        out += &field_in_words(&field, definition.kind, paint);
    }
    out.push('\n');
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
                paint.dim(&format!("      ({} not shown)", counted(count, "line")))
            }
        };
        out.push('\n');
    }
    out
}

fn to_json(server: &Reviewed) -> Value {
    let record = match &server.pins {
        ServerPins::Record(record) => Some(record),
        ServerPins::Nothing | ServerPins::Unreadable(_) => None,
    };
    let waiting = server.waiting().iter().map(|waiting| {
        let definition = &waiting.definition;
        let pin = record.and_then(|record| record.pin(definition));
        let before = pin.and_then(|pin| pin.definition.bytes.as_deref());
        let diff = diff(before, definition.bytes.as_deref());
        let fields = diff.iter().map(|field| {
            let lines = field.lines.iter().map(|it| format!("{}{}", it.change.sign(), it.text()));
            json!({ "field": field.field, "lines": lines.collect::<Vec<_>>() })
        });
        json!({
            "item": definition.item(),
            "kind": definition.kind.word(),
            "name": definition.name,
            "reason": waiting.reason.word(),
            "note": waiting.reason.note(),
            "hash": definition.hash,
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
    let Some(server) = reviewed.iter().find(|it| it.key == choice.server) else {
        let near = did_you_mean(&choice.server, reviewed.iter().map(|it| it.key.as_str()));
        return failed(&format!("there is no server `{}`{near}", line(&choice.server)));
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
