//! The rules of one server: which transport it has and what belongs to it.

use super::address::address_fault;
use super::call_rules::CallRules;
use super::checker::{ConfigChecker, find};
use super::keys::{REMOTE, SIMPLE, SPELLINGS, STDIO};
use super::limits::LimitsReader;
use super::near::nearest;
use super::path::Path;
use super::problem::Problem;
use super::read::ConfigReader;
use super::scanning::scan_policy;
use super::secrets::Secrets;
use super::shape::{HTTP_TYPES, LOCAL_TYPES, SSE_TYPES};
use super::spec::{RemoteKind, Rules, ServerSpec, TextRules, Transport};
use super::suspect::is_secret_value;
use crate::jsonc::{JsonMember, Value};

/// The keys under which the clients write a remote server's address.
const URL_KEYS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Stdio,
    Http,
    Sse,
}

impl ConfigChecker<'_> {
    pub(crate) fn server(&mut self, server: &JsonMember, at: &Path) -> Option<ServerSpec> {
        let Value::Object(members) = &server.value.value else {
            self.wrong_type(&server.value, at, "a server", "an object");
            return None;
        };
        self.duplicates(members, at);
        let declared = self.declared_type(members, at);
        let url = self.url_member(members, at, declared);
        let keys = match (self.rules, url) {
            (Rules::Simple, _) => SIMPLE,
            (Rules::Full, None) => STDIO,
            (Rules::Full, Some(_)) => REMOTE,
        };
        let explained = match (find(members, "command"), url) {
            // An image may know its command itself.
            (None, None) if self.rules == Rules::Full && find(members, "container").is_some() => {
                None
            }
            (None, None) => self.no_command(server, members, at, declared),
            _ => None,
        };
        self.other_keys(members, at, &keys, explained);

        let (filter, share) = (self.filter(members, at), self.share(members, at));
        let (calls, era) = (self.calls(members, at), self.era(members, at));
        let calls = CallRules { limits: LimitsReader(self).server(members, at), ..calls };
        let run = self.run_rules(members, at);
        let tool_limits = LimitsReader(self).tools(members, at);
        let texts = TextRules {
            on_change: self.on_change(members, at),
            scan: scan_policy(self, members, at),
        };
        let disabled = self.disabled(members, at);
        let mut reader = ConfigReader { check: self, secrets: Secrets::new(), disabled };
        let transport = match url {
            Some(url) if reader.check.rules == Rules::Full => {
                if find(members, "command").is_some() {
                    // Both is an error already; this finds what else is wrong.
                    reader.stdio(members, at);
                }
                reader.remote(url, members, at, declared)
            }
            _ => reader.stdio(members, at),
        };
        let sandbox = reader.sandbox(members, at).filter(|_| url.is_none());
        let secrets = reader.secrets;
        let key = server.key.value.clone();
        Some(ServerSpec {
            id: ServerSpec::file_id(&key),
            key,
            transport,
            disabled,
            secrets,
            filter,
            share,
            era,
            guarded: false,
            login: None,
            calls,
            tool_limits,
            run,
            texts,
            sandbox,
        })
    }

    /// What `type` says. Under the simple rules the key itself is the error.
    fn declared_type(&mut self, members: &[JsonMember], at: &Path) -> Option<Type> {
        let member = find(members, "type").filter(|_| self.rules == Rules::Full)?;
        let at = at.key("type");
        let Value::String(text) = &member.value.value else {
            self.wrong_type(&member.value, &at, "`type`", "a string");
            return None;
        };
        let is_one =
            |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(&text.value));
        if is_one(&LOCAL_TYPES) {
            Some(Type::Stdio)
        } else if is_one(&HTTP_TYPES) {
            Some(Type::Http)
        } else if is_one(&SSE_TYPES) {
            Some(Type::Sse)
        } else {
            let message = "this `type` of server is not known";
            let problem = Problem::schema(&at, text.span, message);
            self.report(problem.help("write \"stdio\", \"http\" or \"sse\""));
            None
        }
    }

    /// The address of a remote server, with the contradictions around it reported.
    fn url_member<'n>(
        &mut self,
        members: &'n [JsonMember],
        at: &Path,
        declared: Option<Type>,
    ) -> Option<&'n JsonMember> {
        let mut urls = members.iter().filter(|m| URL_KEYS.contains(&m.key.value.as_str()));
        let url = urls.next();
        if self.rules == Rules::Simple {
            return url;
        }
        let command = find(members, "command");
        if let (Some(first), Some(second)) = (url, urls.find(|other| !same_key(url, other))) {
            self.exclusive("a server", first, second, at);
        }
        match (command, url, declared) {
            (Some(command), Some(url), _) => self.exclusive("a server", command, url, at),
            (None, Some(url), Some(Type::Stdio)) => {
                let message = format!("a server of type stdio has no `{}`", url.key.value);
                self.report(Problem::schema(&at.key(&url.key.value), url.key.span, message));
            }
            (Some(command), None, Some(Type::Http | Type::Sse)) => {
                let message = "a server of type http or sse has no `command`";
                let problem = Problem::schema(&at.key("command"), command.key.span, message);
                self.report(problem.help("give a `url`, or remove `type`"));
            }
            _ => {}
        }
        url
    }

    /// Reports the missing `command`; returns the key that explains it, if there is one.
    fn no_command<'n>(
        &mut self,
        server: &JsonMember,
        members: &'n [JsonMember],
        at: &Path,
        declared: Option<Type>,
    ) -> Option<&'n str> {
        let field = match declared {
            Some(Type::Http | Type::Sse) => "url",
            Some(Type::Stdio) | None => "command",
        };
        let full = self.rules == Rules::Full;
        let meant = |member: &'n JsonMember| {
            let meant = nearest(&member.key.value, &SPELLINGS)?;
            let fits = meant == field || (meant == "url" && full);
            fits.then_some((member, meant))
        };
        let message = format!("missing required field `{field}`");
        let at = at.key(field);
        let Some((member, meant)) = members.iter().find_map(meant) else {
            let problem = Problem::schema(&at, server.key.span, message);
            self.report(problem.help(match field {
                "command" => "write \"command\": \"npx\", or another program",
                _ => "write \"url\": \"https://…\"",
            }));
            return None;
        };
        let problem = Problem::schema(&at, member.key.span, message);
        self.report(problem.help(format!("did you mean `{meant}`?")));
        Some(&member.key.value)
    }

    fn disabled(&mut self, members: &[JsonMember], at: &Path) -> bool {
        if self.rules == Rules::Simple {
            return false;
        }
        let disabled = self.flag(members, at, "disabled");
        let enabled = self.flag(members, at, "enabled");
        if let (Some((disabled, one)), Some((enabled, other))) = (disabled, enabled)
            && disabled == enabled
        {
            // The later one is marked: the reader has just seen the first.
            let later = if one.key.span.start < other.key.span.start { other } else { one };
            let message = "`disabled` and `enabled` contradict each other";
            self.report(Problem::schema(&at.key(&later.key.value), later.key.span, message));
        }
        disabled.is_some_and(|(disabled, _)| disabled) || enabled.is_some_and(|(on, _)| !on)
    }

    fn flag<'n>(
        &mut self,
        members: &'n [JsonMember],
        at: &Path,
        name: &str,
    ) -> Option<(bool, &'n JsonMember)> {
        let member = find(members, name)?;
        let Value::Bool(flag) = member.value.value else {
            self.wrong_type(&member.value, &at.key(name), &format!("`{name}`"), "true or false");
            return None;
        };
        Some((flag, member))
    }
}

impl ConfigReader<'_, '_> {
    fn stdio(&mut self, members: &[JsonMember], at: &Path) -> Transport {
        let full = self.check.rules == Rules::Full;
        let command = find(members, "command").and_then(|member| self.command(member, at));
        let args = find(members, "args").map(|member| self.list(member, at));
        let env = find(members, "env").map(|member| self.pairs(member, at, variable_rule));
        let cwd = find(members, "cwd").filter(|_| full).and_then(|member| self.filled(member, at));
        Transport::Stdio {
            command: command.unwrap_or_default(),
            args: args.unwrap_or_default(),
            env: env.unwrap_or_default(),
            cwd,
        }
    }

    fn command(&mut self, member: &JsonMember, at: &Path) -> Option<String> {
        let command = self.filled(member, at)?;
        let program = command.split_whitespace().next().unwrap_or_default();
        // `C:\Program Files\…` is a program; `npx -y server` is a program and its arguments.
        if program.len() < command.trim().len() && !program.contains(['/', '\\']) {
            let message = "`command` looks like a program with arguments; no shell will split it";
            let problem = Problem::warning(&at.key("command"), member.value.span, message);
            self.check.report(problem.help("put the arguments in `args`"));
        }
        Some(command)
    }

    fn remote(
        &mut self,
        member: &JsonMember,
        members: &[JsonMember],
        at: &Path,
        declared: Option<Type>,
    ) -> Transport {
        let url = self.filled(member, at).unwrap_or_default();
        let key = member.key.value.as_str();
        // The variables of a disabled server need not be set: its address may still hold
        // references.
        let as_written = self.disabled && url.contains('$');
        let fault = if url.is_empty() || as_written { None } else { address_fault(&url) };
        if let Some(fault) = fault {
            let message = format!("`{key}` {fault}");
            let problem = Problem::schema(&at.key(key), member.value.span, message);
            self.check.report(problem.help(fault.help()));
        }
        // Some services put the key into the URL: it must not appear in errors and logs.
        if is_secret_value(&url) {
            self.secrets.add(key, &url);
        }
        let headers = find(members, "headers").map(|member| self.headers(member, at));
        let kind = match (declared, key) {
            (Some(Type::Sse), _) => RemoteKind::Sse,
            (Some(Type::Http), _) | (_, "httpUrl") => RemoteKind::Http,
            _ => RemoteKind::Detect,
        };
        let network = self.network(members, at);
        Transport::Remote { url, kind, headers: headers.unwrap_or_default(), network }
    }

    /// Files written for other clients often set `Accept` and the like: that is no reason to fail.
    fn headers(&mut self, member: &JsonMember, at: &Path) -> Vec<(String, String)> {
        let mut headers = self.pairs(member, at, header_rule);
        headers.retain(|(name, _)| !is_own_header(name));
        if let Value::Object(pairs) = &member.value.value {
            let at = at.key(&member.key.value);
            for pair in pairs.iter().filter(|pair| is_own_header(&pair.key.value)) {
                let name = &pair.key.value;
                let message = format!("`{name}` is set by Trunkline itself and is ignored here");
                let at = at.key(name);
                self.check.report(Problem::warning(&at, pair.key.span, message));
            }
        }
        headers
    }
}

/// The framing and the protocol are Trunkline's own; a value from a config would break both.
pub fn is_own_header(header: &str) -> bool {
    const OURS: [&str; 13] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "proxy-authorization",
        "content-type",
        "accept",
        "accept-encoding",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
    ];
    let header = header.to_ascii_lowercase();
    OURS.contains(&header.as_str()) || header.starts_with("mcp-param-")
}

fn same_key(one: Option<&JsonMember>, other: &JsonMember) -> bool {
    one.is_some_and(|one| one.key.value == other.key.value)
}

fn variable_rule(name: &str, _value: &str) -> Option<&'static str> {
    match name {
        "" => Some("the name of a variable must not be empty"),
        // POSIX, environ: entries are `NAME=value` and end with NUL.
        _ if name.contains(['=', '\0']) => Some("the name of a variable cannot contain `=` or NUL"),
        _ => None,
    }
}

fn header_rule(name: &str, value: &str) -> Option<&'static str> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some("this is not the name of a header");
    }
    let broken = value.contains(|c: char| c.is_control() && c != '\t');
    broken.then_some("the value of a header must be one line without control characters")
}
