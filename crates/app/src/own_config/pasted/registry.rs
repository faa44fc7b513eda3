//! A `server.json` of the MCP registry (schema of 2025-12-11, and the earlier spelling with underscores).

use serde_json::{Value, json};

use super::{JsonObject, NeededValue, PastedServer};

/// The first package that can be started, else the first address.
pub(super) fn server(server: &JsonObject) -> Result<PastedServer, String> {
    let list = |key: &str| server.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (packages, remotes) = (list("packages"), list("remotes"));
    let mut refused = Vec::new();
    let mut making = Making::default();
    let packages = packages.iter().filter_map(Value::as_object);
    let made = packages.into_iter().find_map(|package| match making.package(package) {
        Ok(entry) => Some(entry),
        Err(why) => {
            making = Making::default();
            refused.push(why);
            None
        }
    });
    let made = made.or_else(|| making.remote(remotes.iter().find_map(Value::as_object)?));
    let Some(entry) = made else {
        return Err(match refused.as_slice() {
            [] => "this server.json has neither a package nor an address".to_owned(),
            refused => {
                format!("no package of this server.json can be started: {}", refused.join("; "))
            }
        });
    };
    let name = server.get("name").and_then(Value::as_str).map(short_name);
    let Making { notes, needs } = making;
    Ok(PastedServer { name: name.filter(|name| !name.is_empty()), entry, notes, needs })
}

/// `weather` of `io.github.user/weather`.
fn short_name(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain: String = last.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    plain.trim_matches('-').to_owned()
}

#[derive(Default)]
struct Making {
    notes: Vec<String>,
    needs: Vec<NeededValue>,
}

impl Making {
    fn package(&mut self, package: &JsonObject) -> Result<JsonObject, String> {
        let kind = text(package, "registryType").or_else(|| text(package, "registryName"));
        let kind = kind.unwrap_or_default();
        let id = text(package, "identifier").or_else(|| text(package, "name"));
        let id = id.filter(|id| !id.is_empty()).ok_or("a package has no identifier")?;
        let transport = package.get("transport").and_then(Value::as_object);
        let transport = transport.and_then(|transport| text(transport, "type"));
        if let Some(other) = transport.filter(|transport| *transport != "stdio") {
            return Err(format!("{id} is started by hand and then reached over {other}"));
        }
        let version = text(package, "version").filter(|version| !version.is_empty());
        let at =
            |sign: &str| version.map_or(id.to_owned(), |version| format!("{id}{sign}{version}"));
        let runtime = self.arguments(package, "runtimeArguments");
        let own = self.arguments(package, "packageArguments");
        let env = self.variables(package);
        let (program, args) = match kind {
            "npm" => ("npx", [with(runtime, "-y"), vec![at("@")], own].concat()),
            "pypi" => ("uvx", [runtime, vec![at("@")], own].concat()),
            "nuget" => {
                let separator = if own.is_empty() { vec![] } else { vec!["--".to_owned()] };
                ("dnx", [with(runtime, "--yes"), vec![at("@")], separator, own].concat())
            }
            "oci" => {
                let mut run: Vec<String> = ["run", "-i", "--rm"].map(str::to_owned).into();
                run.extend(runtime.into_iter().filter(|word| !["-i", "--rm"].contains(&&**word)));
                // The container gets those of our process by name: no value is in the process list.
                run.extend(env.keys().flat_map(|name| ["-e".to_owned(), name.clone()]));
                let is_tagged = id.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
                run.push(if is_tagged { id.to_owned() } else { at(":") });
                ("docker", [run, own].concat())
            }
            "mcpb" => return Err(format!("{id} is a bundle for a desktop client")),
            other => return Err(format!("{id} is of the registry {other:?}, which is not known")),
        };
        let program =
            text(package, "runtimeHint").filter(|hint| !hint.is_empty()).unwrap_or(program);
        let mut entry = JsonObject::new();
        entry.insert("command".to_owned(), program.into());
        entry.insert("args".to_owned(), json!(args));
        if !env.is_empty() {
            entry.insert("env".to_owned(), env.into());
        }
        Ok(entry)
    }

    fn remote(&mut self, remote: &JsonObject) -> Option<JsonObject> {
        let url = text(remote, "url")?;
        let mut entry = JsonObject::new();
        let kind = if text(remote, "type") == Some("sse") { "sse" } else { "http" };
        entry.insert("type".to_owned(), kind.into());
        let url = self.filled(url, remote);
        entry.insert("url".to_owned(), url.into());
        let headers = self.inputs(remote, "headers");
        if !headers.is_empty() {
            entry.insert("headers".to_owned(), headers.into());
        }
        Some(entry)
    }

    fn variables(&mut self, package: &JsonObject) -> JsonObject {
        self.inputs(package, "environmentVariables")
    }

    /// Names with values: variables or headers. One that is neither required nor has a value is left out.
    fn inputs(&mut self, of: &JsonObject, key: &str) -> JsonObject {
        let mut made = JsonObject::new();
        for input in objects(of, key) {
            let Some(name) = text(input, "name") else { continue };
            if let Some(value) = self.input(input, name) {
                made.insert(name.to_owned(), value.into());
            }
        }
        made
    }

    fn arguments(&mut self, package: &JsonObject, key: &str) -> Vec<String> {
        let mut words = Vec::new();
        for argument in objects(package, key) {
            let name = text(argument, "name").unwrap_or_default();
            let is_named = text(argument, "type") == Some("named");
            let hint = text(argument, "valueHint");
            let called = hint.filter(|_| !is_named).unwrap_or(name);
            let has_value = ["value", "default", "valueHint", "isRequired"];
            let is_switch = is_named && has_value.iter().all(|key| member(argument, key).is_none());
            if is_switch {
                words.push(name.to_owned());
                continue;
            }
            if let Some(value) = self.input(argument, called) {
                words.extend(is_named.then(|| name.to_owned()));
                words.push(value);
            }
        }
        words
    }

    /// What an input is set to; `None`: it may be left out.
    fn input(&mut self, input: &JsonObject, name: &str) -> Option<String> {
        if let Some(value) = text(input, "value") {
            return Some(self.filled(value, input));
        }
        if let Some(default) = member(input, "default").and_then(plain) {
            return Some(default);
        }
        let is_required = flag(input, "isRequired");
        is_required.then(|| self.needed(name, input))
    }

    /// The text with values in place of its `{names}`.
    fn filled(&mut self, template: &str, input: &JsonObject) -> String {
        let variables = member(input, "variables").and_then(Value::as_object);
        let mut out = template.to_owned();
        for (name, variable) in variables.into_iter().flatten() {
            let nothing = JsonObject::new();
            let variable = variable.as_object().unwrap_or(&nothing);
            let value = match member(variable, "value").or_else(|| member(variable, "default")) {
                Some(value) => plain(value).unwrap_or_default(),
                None => self.needed(name, variable),
            };
            out = out.replace(&format!("{{{name}}}"), &value);
        }
        out
    }

    fn needed(&mut self, name: &str, input: &JsonObject) -> String {
        let name = variable_name(name);
        if !self.needs.iter().any(|known| known.name == name) {
            let about = text(input, "description").unwrap_or_default().to_owned();
            let is_secret = flag(input, "isSecret");
            self.needs.push(NeededValue { name: name.clone(), about, is_secret });
        }
        format!("${{{name}}}")
    }
}

/// `X-Api-Key` as a variable: `X_API_KEY`.
fn variable_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.trim_start_matches('-').chars().map(fits).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        true => format!("_{name}"),
        false => name,
    }
}

fn with(mut words: Vec<String>, flag: &str) -> Vec<String> {
    let short = flag == "-y" && words.iter().any(|word| word == "--yes");
    if !short && !words.iter().any(|word| word == flag) {
        words.insert(0, flag.to_owned());
    }
    words
}

/// A member under its name of now, or as earlier versions of the schema spelt it.
fn member<'o>(of: &'o JsonObject, key: &str) -> Option<&'o Value> {
    let earlier = || {
        let mut name = String::new();
        for letter in key.chars() {
            if letter.is_ascii_uppercase() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        of.get(&name)
    };
    of.get(key).or_else(earlier)
}

fn text<'o>(of: &'o JsonObject, key: &str) -> Option<&'o str> {
    member(of, key)?.as_str()
}

fn flag(of: &JsonObject, key: &str) -> bool {
    member(of, key).and_then(Value::as_bool) == Some(true)
}

fn objects<'o>(of: &'o JsonObject, key: &str) -> impl Iterator<Item = &'o JsonObject> {
    let items = member(of, key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_object)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
