//! Switches servers and tools on and off in a config's text.

use serde_json::{Value, json};

use super::error::OwnConfigError;
use super::servers::ConfigServers;
use trunkline_catalog::client::Client;

/// The lists of tools that are not offered: ours, and those of other clients' files.
const HIDDEN: [&str; 4] = ["hiddenTools", "excludeTools", "disabled_tools", "disabledTools"];

/// The lists of the only tools that are offered.
const EXPOSED: [&str; 5] =
    ["exposedTools", "includeTools", "enabled_tools", "available_tools", "tools"];

/// Whether a server is started. False: it is so already.
pub(crate) fn set_disabled(
    config: &mut ConfigServers,
    name: &str,
    disabled: bool,
) -> Result<bool, OwnConfigError> {
    let entry = config.known(name)?;
    let says = |key: &str| entry.get(key).and_then(Value::as_bool);
    let is_disabled = says("disabled") == Some(true) || says("enabled") == Some(false);
    if is_disabled == disabled {
        return Ok(false);
    }
    for key in ["disabled", "enabled"] {
        if entry.get(key).is_some() && !(disabled && key == "disabled") {
            let path = config.member_path(name, key);
            config.remove_at(&path)?;
        }
    }
    if disabled {
        let path = config.member_path(name, "disabled");
        config.set_at(&path, &Value::Bool(true))?;
    }
    Ok(true)
}

/// Whether a tool of a server, by the server's own name, is offered to anybody. False: it is so already.
pub(crate) fn set_hidden(
    config: &mut ConfigServers,
    server: &str,
    tool: &str,
    hidden: bool,
) -> Result<bool, OwnConfigError> {
    if hidden {
        let is_listed = |key: &str| lists(config.member(server, key).as_ref(), tool);
        if HIDDEN.iter().any(|key| is_listed(key)) {
            return Ok(false);
        }
        let path = config.member_path(server, "hiddenTools");
        return config.add_to_list(&path, tool);
    }
    let mut changed = false;
    for key in HIDDEN {
        let path = config.member_path(server, key);
        changed |= config.take_from_list(&path, tool)?;
    }
    for key in EXPOSED {
        let listed = config.member(server, key);
        let is_all = lists(listed.as_ref(), "*");
        let Some(Value::Array(items)) = &listed else { continue };
        // Other clients keep permissions for each tool under `tools`.
        let is_ours = key != "tools" || items.iter().all(Value::is_string);
        if is_ours && !is_all && !lists(listed.as_ref(), tool) {
            let path = config.member_path(server, key);
            changed |= config.add_to_list(&path, tool)?;
        }
    }
    Ok(changed)
}

/// Whether a server or tools of it are offered to one client. False: it is so already.
pub(crate) fn set_hidden_for(
    config: &mut ConfigServers,
    client: Client,
    name: &str,
    hidden: bool,
) -> Result<bool, OwnConfigError> {
    let path = ["clients", client.id(), "hiddenTools"];
    if hidden {
        return config.add_to_list(&path, name);
    }
    let changed = config.take_from_list(&path, name)?;
    // What only held the list goes with it.
    for path in [&path[..2], &path[..1]] {
        if changed && config.get_at(path) == Some(json!({})) {
            config.remove_at(path)?;
        }
    }
    Ok(changed)
}

/// Is the tool in this list, by itself or with a name of its own?
fn lists(list: Option<&Value>, tool: &str) -> bool {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let name =
        |item: &Value| item.as_str().or_else(|| item.get("original")?.as_str()).map(str::to_owned);
    items.filter_map(name).any(|name| name == tool)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn edited(text: &str, edit: impl Fn(&mut ConfigServers) -> bool, expected: &str) {
        let mut config = ConfigServers::parse(Path::new("f"), text).unwrap();
        let changed = edit(&mut config);
        assert_eq!(config.text(), expected);
        assert_eq!(changed, text != expected);
    }

    #[test]
    fn a_server_is_switched_off_and_on_in_the_words_of_the_file() {
        let off = |config: &mut ConfigServers| set_disabled(config, "a", true).unwrap();
        let on = |config: &mut ConfigServers| set_disabled(config, "a", false).unwrap();
        let plain = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\" // why\n    }\n  }\n}\n";
        let disabled = "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\", // why\n      \"disabled\": true\n    }\n  }\n}\n";
        edited(plain, off, disabled);
        edited(disabled, on, plain);
        edited(plain, on, plain);
        edited(disabled, off, disabled);
        let enabled = r#"{"servers": {"a": {"enabled": true, "command": "x"}}}"#;
        edited(enabled, off, r#"{"servers": {"a": {"command": "x", "disabled": true}}}"#);
        let not = r#"{"mcpServers": {"a": {"command": "x", "enabled": false}}}"#;
        edited(not, on, r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    }

    #[test]
    fn a_tool_is_switched_off_and_on() {
        let hide = |config: &mut ConfigServers| set_hidden(config, "a", "t", true).unwrap();
        let show = |config: &mut ConfigServers| set_hidden(config, "a", "t", false).unwrap();
        let server = |members: &str| {
            format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"x\"{members}}}}}}}")
        };
        for (on, off) in [
            ("", r#", "hiddenTools": ["t"]"#),
            (r#", "hiddenTools": ["u"]"#, r#", "hiddenTools": ["u", "t"]"#),
        ] {
            edited(&server(on), hide, &server(off));
            edited(&server(off), show, &server(on));
        }
        for (before, after) in [
            (r#", "excludeTools": ["t", "u"]"#, r#", "excludeTools": ["u"]"#),
            (r#", "exposedTools": ["u"]"#, r#", "exposedTools": ["u", "t"]"#),
            (r#", "tools": ["*"]"#, r#", "tools": ["*"]"#),
            (
                r#", "exposedTools": [{"original": "t", "exposed": "v"}]"#,
                r#", "exposedTools": [{"original": "t", "exposed": "v"}]"#,
            ),
        ] {
            edited(&server(before), show, &server(after));
        }
        edited(&server(r#", "excludeTools": ["t"]"#), hide, &server(r#", "excludeTools": ["t"]"#));
    }

    #[test]
    fn a_tool_is_switched_off_for_one_client() {
        let set = |hidden| {
            move |config: &mut ConfigServers| {
                set_hidden_for(config, Client::Cursor, "a:t", hidden).unwrap()
            }
        };
        let plain = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
        let off = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}, \"clients\": {\"cursor\": {\"hiddenTools\": [\"a:t\"]}}}";
        edited(plain, set(true), off);
        edited(off, set(false), plain);
        edited(plain, set(false), plain);
    }
}
