//! `EntryId`: which entry of a config a record belongs to, by what the entry starts or connects to; `RecordId`: that,
//! and for which clients the server listed.

use ring::digest::{Context, SHA256};
use trunkline_catalog::config::{Secrets, Transport};

/// A digest of the entry. The same command may stand under several keys with other values in `env`, and say other
/// things: each key has its own record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryId(String);

impl EntryId {
    /// Of variables and headers only the names count, and secrets inside arguments and addresses are replaced
    /// by their names: a digest of a short secret can be guessed, and a secret that was rotated is no new entry.
    pub(crate) fn of(key: &str, transport: &Transport, secrets: &Secrets) -> Self {
        let mut digest = Context::new(&SHA256);
        let mut add = |part: &str| {
            // With their lengths, so that no two lists of parts read the same.
            digest.update(&part.len().to_be_bytes());
            digest.update(part.as_bytes());
        };
        add(key);
        match transport {
            Transport::Stdio { command, args, env, cwd } => {
                add("stdio");
                add(&secrets.redact(command));
                add(&args.len().to_string());
                args.iter().for_each(|arg| add(&secrets.redact(arg)));
                add(&secrets.redact(cwd.as_deref().unwrap_or_default()));
                sorted_names(env).into_iter().for_each(&mut add);
            }
            Transport::Remote { url, headers, .. } => {
                add("remote");
                add(&secrets.redact(url));
                sorted_names(headers).into_iter().for_each(&mut add);
            }
        }
        Self(hex(digest.finish().as_ref()))
    }

    /// The name of a file for it, without an ending.
    pub(crate) fn file_stem(&self) -> &str {
        &self.0
    }

    /// The record for clients that can do this; `None`: for many clients, told of everything.
    pub(crate) fn for_clients(&self, told: Option<&[u8]>) -> RecordId {
        let Some(told) = told else { return RecordId(self.0.clone()) };
        let digest = hex(ring::digest::digest(&SHA256, told).as_ref());
        RecordId(format!("{}{SEPARATOR}{digest}", self.0))
    }

    /// Is this the name of one of its records?
    pub(super) fn has_record(&self, file_stem: &str) -> bool {
        entry_part(file_stem) == self.0
    }
}

/// Which record of an entry: a server may list by what its clients can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordId(String);

impl RecordId {
    /// The name of its file, without an ending.
    pub(crate) fn file_stem(&self) -> &str {
        &self.0
    }
}

/// Stands between the entry and the clients in the name of a file.
const SEPARATOR: char = '-';

/// The entry in the name of a record.
pub(super) fn entry_part(file_stem: &str) -> &str {
    file_stem.split(SEPARATOR).next().unwrap_or_default()
}

fn sorted_names(pairs: &[(String, String)]) -> Vec<&str> {
    let mut names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

/// 128 bits are enough to tell entries apart.
const BYTES: usize = 16;

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::RemoteKind;

    use super::*;

    fn process(args: &[&str], env: &[(&str, &str)]) -> Transport {
        let pairs = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Transport::Stdio {
            command: "run".to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: pairs.collect(),
            cwd: None,
        }
    }

    fn remote(url: &str) -> Transport {
        Transport::Remote {
            url: url.to_owned(),
            kind: RemoteKind::Detect,
            headers: Vec::new(),
            network: Default::default(),
        }
    }

    #[test]
    fn an_entry_is_what_it_starts_without_its_secrets() {
        let mut secrets = Secrets::new();
        secrets.add("KEY", "first-value");
        let mut rotated = Secrets::new();
        rotated.add("KEY", "second-value");
        let id = |transport: &Transport| EntryId::of("s", transport, &secrets);
        let base = id(&process(&["a", "--key=first-value"], &[("KEY", "first-value"), ("B", "1")]));
        let same = process(&["a", "--key=second-value"], &[("B", "2"), ("KEY", "second-value")]);
        assert_eq!(EntryId::of("s", &same, &rotated), base);
        assert_ne!(EntryId::of("t", &same, &rotated), base, "another key is another entry");
        for other in [
            process(&["a", "--key=third-value"], &[("KEY", "first-value"), ("B", "1")]),
            process(&["a", "--key=first-value"], &[("KEY", "first-value")]),
            process(&["a--key=first-value"], &[("KEY", "first-value"), ("B", "1")]),
            remote("https://h/mcp"),
        ] {
            assert_ne!(id(&other), base, "{other:?}");
        }
        assert_ne!(id(&remote("https://h/mcp")), id(&remote("https://h/other")));
        assert_eq!(id(&remote("https://h/?k=first-value")), {
            EntryId::of("s", &remote("https://h/?k=second-value"), &rotated)
        });
    }
}
