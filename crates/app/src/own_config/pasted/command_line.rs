//! Lines that add a server to another program: `claude mcp add …`, `codex mcp add …`, `gemini mcp add …`,
//! `code --add-mcp …`.

use serde_json::{Value, json};

use super::shell_words::shell_words;
use super::{JsonObject, PastedServer, snippet};
use crate::install::leads_to_trunkline;

/// The programs whose `mcp add` is understood.
const PROGRAMS: [&str; 4] = ["claude", "codex", "gemini", "qwen"];

pub(super) fn read(text: &str) -> Result<Vec<PastedServer>, String> {
    let text = text.strip_prefix("$ ").unwrap_or(text);
    let words = shell_words(text).map_err(|why| format!("the line cannot be read: {why}"))?;
    match added(&words) {
        Some(read) => read,
        None => Err(format!(
            "this is neither JSON with servers nor a line such as `claude mcp add NAME -- COMMAND`; \
             known are `mcp add` of {}, and `code --add-mcp`",
            PROGRAMS.join(", ")
        )),
    }
}

/// The servers that a line of another program adds, given as words; `None`: it is no such line.
pub(crate) fn add_words(words: &[String]) -> Option<Result<Vec<PastedServer>, String>> {
    added(words)
}

fn added(words: &[String]) -> Option<Result<Vec<PastedServer>, String>> {
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    match plain.as_slice() {
        [program, "mcp", "add-json", rest @ ..] if PROGRAMS.contains(program) => {
            Some(add_json(rest))
        }
        [program, "mcp", "add", rest @ ..] if PROGRAMS.contains(program) => {
            Some(mcp_add(&format!("{program} mcp add"), rest))
        }
        [_, "--add-mcp", text] => Some(snippet::json(text)),
        _ => None,
    }
}

/// `NAME JSON`, with flags that say nothing about the server.
fn add_json(words: &[&str]) -> Result<Vec<PastedServer>, String> {
    let mut line = AddLine::default();
    line.read("claude mcp add-json", words)?;
    let [name, text] = line.plain.as_slice() else {
        return Err("`claude mcp add-json` takes a name and a JSON text".to_owned());
    };
    let mut servers = snippet::json(text)?;
    for server in &mut servers {
        server.name = Some(name.clone());
        server.notes.extend(line.notes.iter().cloned());
    }
    Ok(servers)
}

fn mcp_add(line_of: &str, words: &[&str]) -> Result<Vec<PastedServer>, String> {
    let mut line = AddLine::default();
    line.read(line_of, words)?;
    line.server(line_of).map(|server| vec![server])
}

/// What such a line says.
#[derive(Default)]
struct AddLine {
    /// The name, the command or address, and arguments.
    plain: Vec<String>,
    /// Behind `--`.
    command: Vec<String>,
    env: JsonObject,
    headers: JsonObject,
    transport: Option<String>,
    url: Option<String>,
    cwd: Option<String>,
    notes: Vec<String>,
}

/// Flags of these programs that take a value and say nothing that Trunkline needs.
const IGNORED: [&str; 6] =
    ["--description", "--timeout", "--include-tools", "--exclude-tools", "--scope", "-s"];

/// … and are about a login.
const LOGIN: [&str; 3] = ["--client-id", "--callback-port", "--oauth-client-id"];

impl AddLine {
    fn read(&mut self, line_of: &str, words: &[&str]) -> Result<(), String> {
        let mut rest = words.iter().copied().peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                self.command.extend(rest.map(str::to_owned));
                return Ok(());
            }
            // Arguments of a command that was written without `--`.
            if self.plain.len() >= 2 && !is_flag_here(word) {
                self.plain.push(word.to_owned());
                continue;
            }
            let (flag, joined) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (word, None),
            };
            let mut value = || {
                let next = joined.or_else(|| rest.next());
                next.ok_or_else(|| format!("`{flag}` of `{line_of}` has no value"))
            };
            match flag {
                "-e" | "--env" => {
                    self.variable(value()?)?;
                    // `--env A=1 B=2 -- …`
                    while let Some(more) = rest.next_if(|word| is_variable(word)) {
                        self.variable(more)?;
                    }
                }
                "-H" | "--header" => {
                    self.header(value()?)?;
                    while let Some(more) = rest.next_if(|word| is_header(word)) {
                        self.header(more)?;
                    }
                }
                "-t" | "--transport" | "--type" => self.transport = Some(value()?.to_owned()),
                "--url" => self.url = Some(value()?.to_owned()),
                "--cwd" => self.cwd = Some(value()?.to_owned()),
                "--bearer-token-env-var" => {
                    let token = format!("Bearer ${{{}}}", value()?);
                    self.headers.insert("Authorization".to_owned(), token.into());
                }
                flag if IGNORED.contains(&flag) => drop(value()?),
                flag if LOGIN.contains(&flag) => {
                    value()?;
                    self.note_login();
                }
                "--client-secret" => self.note_login(),
                "--trust" => {}
                flag if flag.starts_with('-') && flag.len() > 1 => {
                    return Err(format!(
                        "`{line_of}` has no flag `{flag}` that Trunkline knows; put the command behind `--`"
                    ));
                }
                _ => self.plain.push(word.to_owned()),
            }
        }
        Ok(())
    }

    fn variable(&mut self, pair: &str) -> Result<(), String> {
        let (name, value) = pair.split_once('=').ok_or("`--env` takes NAME=VALUE")?;
        self.env.insert(name.to_owned(), value.into());
        Ok(())
    }

    fn header(&mut self, header: &str) -> Result<(), String> {
        let (name, value) = header.split_once(':').ok_or("`--header` takes 'Name: value'")?;
        self.headers.insert(name.trim().to_owned(), value.trim().into());
        Ok(())
    }

    fn note_login(&mut self) {
        let note = "the OAuth client of the line is not used: `trunkline login` after this";
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }

    fn server(self, line_of: &str) -> Result<PastedServer, String> {
        let mut plain = self.plain.into_iter();
        let name = plain.next().ok_or_else(|| format!("`{line_of}` names no server"))?;
        let mut words: Vec<String> = plain.chain(self.command).collect();
        let mut entry = JsonObject::new();
        let first = words.first().map(String::as_str).unwrap_or_default();
        let is_remote = |transport: &str| matches!(transport, "http" | "sse" | "streamable-http");
        let says_remote = self.transport.as_deref().is_some_and(is_remote);
        let url = match self.url {
            Some(url) => Some(url),
            None if says_remote || is_address(first) => Some(first.to_owned()),
            None => None,
        };
        if let Some(url) = url {
            if let Some(kind) = self.transport.filter(|transport| is_remote(transport)) {
                entry.insert("type".to_owned(), kind.into());
            }
            entry.insert("url".to_owned(), url.into());
            put(&mut entry, "headers", self.headers);
        } else {
            if words.is_empty() {
                return Err(format!("`{line_of}` has neither a command nor an address"));
            }
            entry.insert("command".to_owned(), words.remove(0).into());
            entry.insert("args".to_owned(), json!(words));
            put(&mut entry, "env", self.env);
            if let Some(cwd) = self.cwd {
                entry.insert("cwd".to_owned(), cwd.into());
            }
        }
        if leads_to_trunkline(&Value::Object(entry.clone())) {
            return Err(format!("`{name}` is Trunkline itself"));
        }
        Ok(PastedServer { name: Some(name), entry, notes: self.notes, needs: Vec::new() })
    }
}

fn put(entry: &mut JsonObject, key: &str, pairs: JsonObject) {
    if !pairs.is_empty() {
        entry.insert(key.to_owned(), Value::Object(pairs));
    }
}

fn is_address(word: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        word.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    })
}

/// A flag that may also stand behind the name and the command.
fn is_flag_here(word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or(word);
    ["-e", "--env", "-H", "--header", "-t", "--transport", "-s", "--scope", "--"].contains(&flag)
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_header(word: &str) -> bool {
    word.split_once(": ").is_some_and(|(name, _)| !name.is_empty() && !name.contains(['/', ' ']))
}
