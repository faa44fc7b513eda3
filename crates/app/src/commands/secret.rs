//! `trunkline secret …`: sets, lists and removes the named secrets of a platform's store.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use serde_json::json;
use trunkline_control::api::time;
use trunkline_control::api::view::SecretView;
use trunkline_control::secrets::{NamedSecret, SecretUser};
use trunkline_control::services::{RemovalRule, SecretWrite, StoreSecrets};
use zeroize::Zeroizing;

use super::maintain::{MaintenanceResult, with};
use crate::cli::{RemoveSecret, Secret, SecretCommand, SetSecret};
use crate::environment::Environment;
use crate::{OK, USAGE, console};

/// In bytes: more than any secret may have, and little enough to be read whole.
const LARGEST: u64 = 1 << 20;

pub(crate) fn run(secret: &Secret, environment: &Environment) -> u8 {
    match &secret.command {
        SecretCommand::Set(set) => match value(set) {
            Ok(value) => with(&set.at, environment, async |kept| {
                opened(&kept.store, &kept.key, async |it| put(it, &set.name, &value).await).await
            }),
            Err(why) => console::problem(&format!("error: {why}\n"), USAGE),
        },
        SecretCommand::List(at) => with(at, environment, async |kept| {
            opened(&kept.store, &kept.key, async |it| list(it, at.json).await).await
        }),
        SecretCommand::Remove(wanted) => with(&wanted.at, environment, async |kept| {
            opened(&kept.store, &kept.key, async |it| remove(it, wanted).await).await
        }),
    }
}

async fn opened(
    store: &trunkline_store::StoreUrl,
    key: &trunkline_control::secrets::KeySource,
    act: impl AsyncFnOnce(&StoreSecrets) -> MaintenanceResult,
) -> MaintenanceResult {
    let secrets = StoreSecrets::open(store, key).await.map_err(|error| error.to_string())?;
    let outcome = act(&secrets).await;
    secrets.close().await;
    outcome
}

async fn put(secrets: &StoreSecrets, name: &str, value: &str) -> MaintenanceResult {
    let written = secrets.put(name, value).await.map_err(|error| error.to_string())?;
    let (words, is_new) = match written {
        SecretWrite::New => {
            (format!("`{name}` is kept: refer to it with ${{secret:{name}}}\n"), true)
        }
        SecretWrite::Again => (format!("`{name}` has another value\n"), false),
    };
    Ok((OK, words, json!({"name": name, "new": is_new})))
}

async fn list(secrets: &StoreSecrets, json: bool) -> MaintenanceResult {
    let all = secrets.list().await.map_err(|error| error.to_string())?;
    if all.is_empty() && !json {
        console::problem("no secrets yet: `trunkline secret set NAME` keeps one\n", OK);
    }
    let words: String = all.iter().map(|(secret, users)| line(secret, users)).collect();
    let shown = |(secret, users): &(NamedSecret, Vec<SecretUser>)| {
        SecretView { secret, used_by: Some(users) }.json()
    };
    let told = json!({"secrets": all.iter().map(shown).collect::<Vec<_>>()});
    Ok((OK, words, told))
}

async fn remove(secrets: &StoreSecrets, wanted: &RemoveSecret) -> MaintenanceResult {
    let removal = if wanted.force { RemovalRule::InAnyCase } else { RemovalRule::IfUnused };
    secrets.remove(&wanted.name, removal).await.map_err(|error| error.to_string())?;
    Ok((OK, format!("`{}` is gone\n", wanted.name), json!({"name": wanted.name})))
}

fn line(secret: &NamedSecret, users: &[SecretUser]) -> String {
    let by = secret.updated_by.as_deref().unwrap_or("somebody");
    let users: Vec<_> = users.iter().map(|user| user.name.as_str()).collect();
    let used = match users.as_slice() {
        [] => "unused".to_owned(),
        users => format!("used by {}", users.join(", ")),
    };
    format!("{}  {} by {by}, {used}\n", secret.name, time::format(secret.updated_at))
}

/// From a file or from standard input, never from the command line.
fn value(set: &SetSecret) -> Result<Zeroizing<String>, String> {
    if !set.value.is_empty() {
        return Err(
            "the value is not an argument: everybody on this machine could see it; pipe it \
                    in, or name a file with --from-file"
                .to_owned(),
        );
    }
    let read = match &set.from_file {
        Some(path) => from_file(path).map_err(|why| format!("{}: {why}", path.display())),
        None if io::stdin().is_terminal() => {
            Err("pipe the value in, or name a file with --from-file".to_owned())
        }
        None => text(io::stdin()).map_err(|why| format!("standard input: {why}")),
    };
    read.map(without_last_line_end)
}

fn from_file(path: &Path) -> Result<Zeroizing<String>, String> {
    text(std::fs::File::open(path).map_err(|error| error.to_string())?)
}

fn text(from: impl io::Read) -> Result<Zeroizing<String>, String> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if read as u64 > LARGEST {
        return Err("this is too long for a secret".to_owned());
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| "this is not text (UTF-8)".to_owned())?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// `echo` and editors add a line end that is no part of the secret.
fn without_last_line_end(text: Zeroizing<String>) -> Zeroizing<String> {
    match text.strip_suffix('\n') {
        Some(rest) => Zeroizing::new(rest.strip_suffix('\r').unwrap_or(rest).to_owned()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_at_the_end_is_not_part_of_a_value() {
        for (text, expected) in [
            ("a", "a"),
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a\nb\n", "a\nb"),
            ("a\r", "a\r"),
            ("\n", ""),
            ("", ""),
        ] {
            let got = without_last_line_end(Zeroizing::new(text.to_owned()));
            assert_eq!(*got, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_text_or_too_long_is_refused() {
        assert!(text(&b"\xff"[..]).unwrap_err().contains("UTF-8"));
        assert!(text(io::repeat(b'a')).unwrap_err().contains("too long"));
        assert_eq!(*text(&b"a\xc3\xa4"[..]).unwrap(), "aä");
    }
}
