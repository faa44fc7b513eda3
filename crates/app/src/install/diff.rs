//! Renders a change of our entry as a diff. Lines of other entries are left out: they may hold secrets.

use serde_json::Value;
use trunkline_catalog::client::FileFormat;

use super::document::{inline, shown_in_toml, shown_in_yaml};
use super::location::ConfigLocation;
use super::plan::Change;

/// Like a unified diff, with the names around our entry as the context.
/// `moved` are servers that leave the file, with the names of their members.
pub(super) fn render(
    location: &ConfigLocation,
    name: &str,
    change: &Change,
    moved: &[(String, Vec<String>)],
) -> String {
    let is_same = matches!(change, Change::Edit { settings } if settings.is_empty());
    if is_same && moved.is_empty() {
        return String::new();
    }
    let change = &veiled(change, location);
    let key = location.key;
    let gone = moved.iter().map(|(name, members)| {
        let members = members.join(", ");
        match location.format {
            FileFormat::Json(_) => format!("-    \"{name}\": {{ … }}  ({members})"),
            FileFormat::Toml => format!("-[{key}.{name}]  ({members})"),
            FileFormat::Yaml => format!("-  {name}: …  ({members})"),
        }
    });
    let file = location.file.display();
    let mut lines = vec![format!("--- {file}"), format!("+++ {file}")];
    match location.format {
        FileFormat::Json(_) => {
            lines.push(format!("   \"{}\": {{", location.key));
            lines.extend(gone);
            lines.extend(json(name, change));
            lines.push("   }".to_owned());
        }
        FileFormat::Toml => {
            lines.extend(gone);
            lines.extend(toml(&format!("[{}.{name}]", location.key), change));
        }
        FileFormat::Yaml => {
            lines.push(format!(" {}:", location.key));
            lines.extend(gone);
            lines.extend(yaml(name, change));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The change without the values of headers that are no references: they may be tokens.
fn veiled(change: &Change, location: &ConfigLocation) -> Change {
    let headers = location.spec.entry.remote.as_ref().map(|remote| remote.headers);
    let hidden = |value: &Value| match value.as_str() {
        Some(text) if !text.contains(['$', '{']) => {
            let scheme = text.split_once(' ').map(|(scheme, _)| format!("{scheme} "));
            Value::from(format!("{}…", scheme.unwrap_or_default()))
        }
        _ => value.clone(),
    };
    let whole = |entry: &Value| {
        let mut entry = entry.clone();
        let headers = headers.and_then(|headers| entry.get_mut(headers)?.as_object_mut());
        headers.into_iter().flatten().for_each(|(_, value)| *value = hidden(value));
        entry
    };
    match change {
        Change::Add { entry } => Change::Add { entry: whole(entry) },
        Change::Replace { members, entry } => {
            Change::Replace { members: members.clone(), entry: whole(entry) }
        }
        Change::Edit { settings } => {
            let veil = |(path, old, new): &(Vec<String>, Option<Value>, Value)| match path
                .first()
                .map(String::as_str)
                == headers
            {
                true => (path.clone(), old.as_ref().map(hidden), hidden(new)),
                false => (path.clone(), old.clone(), new.clone()),
            };
            Change::Edit { settings: settings.iter().map(veil).collect() }
        }
    }
}

fn json(name: &str, change: &Change) -> Vec<String> {
    let whole = |entry: &Value| {
        let members = entry.as_object().into_iter().flatten();
        let members = members.map(|(key, value)| format!("+      \"{key}\": {}", inline(value)));
        let members: Vec<String> = members.collect();
        [format!("+    \"{name}\": {{"), members.join(",\n"), "+    }".to_owned()]
    };
    match change {
        Change::Add { entry } => whole(entry).into(),
        Change::Replace { members, entry } => {
            let old = format!("-    \"{name}\": {{ … }}  ({})", members.join(", "));
            [vec![old], whole(entry).into()].concat()
        }
        Change::Edit { settings } => {
            let line = |mark: char, path: &[String], value: &Value| {
                format!("{mark}      \"{}\": {}", path.join("\".\""), inline(value))
            };
            let before = vec![format!("     \"{name}\": {{")];
            [before, edited(settings, line), vec!["     }".to_owned()]].concat()
        }
    }
}

fn toml(header: &str, change: &Change) -> Vec<String> {
    let line = |mark: char, path: &[String], value: &Value| {
        format!("{mark}{} = {}", path.join("."), shown_in_toml(value))
    };
    let whole = |entry: &Value| {
        let members = entry.as_object().into_iter().flatten();
        let members = members.map(|(key, value)| line('+', std::slice::from_ref(key), value));
        std::iter::once(format!("+{header}")).chain(members).collect::<Vec<_>>()
    };
    match change {
        Change::Add { entry } => whole(entry),
        Change::Replace { members, entry } => {
            [vec![format!("-{header}  ({})", members.join(", "))], whole(entry)].concat()
        }
        Change::Edit { settings } => [vec![format!(" {header}")], edited(settings, line)].concat(),
    }
}

fn yaml(name: &str, change: &Change) -> Vec<String> {
    let whole = |entry: &Value| {
        let members = shown_in_yaml(entry).into_iter().map(|line| format!("+    {line}"));
        std::iter::once(format!("+  {name}:")).chain(members).collect::<Vec<_>>()
    };
    let line = |mark: char, path: &[String], value: &Value| {
        format!("{mark}    {}: {}", path.join("."), inline(value))
    };
    match change {
        Change::Add { entry } => whole(entry),
        Change::Replace { members, entry } => {
            [vec![format!("-  {name}: …  ({})", members.join(", "))], whole(entry)].concat()
        }
        Change::Edit { settings } => [vec![format!("   {name}:")], edited(settings, line)].concat(),
    }
}

fn edited(
    settings: &[(Vec<String>, Option<Value>, Value)],
    line: impl Fn(char, &[String], &Value) -> String,
) -> Vec<String> {
    let lines = settings.iter().flat_map(|(path, old, new)| {
        [old.as_ref().map(|old| line('-', path, old)), Some(line('+', path, new))]
    });
    lines.flatten().collect()
}
