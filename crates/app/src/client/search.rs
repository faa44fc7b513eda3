//! Searches a list of tools for `trunkline search`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trunkline_search::{Definition, Index, Model, Query, Server};
use trunkline_wire::{elements, member};

use crate::client::table::columns;
use crate::client::{clean, names};

/// What is looked for in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolQuery<'a> {
    pub(crate) text: &'a str,
    pub(crate) limit: usize,
    /// Only of these servers; all if there is none.
    pub(crate) servers: &'a [String],
    /// The servers that there are, by their keys: names of tools begin with them.
    pub(crate) known: &'a [String],
}

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolMatch {
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) original: String,
    pub(crate) description: String,
    pub(crate) score: f32,
}

/// Looks for it in the result of `tools/list`. Why not, in words: the program is damaged.
pub(crate) fn search_tools(
    list: &[u8],
    sought: &ToolQuery<'_>,
) -> Result<(Vec<ToolMatch>, usize), String> {
    let model = Model::embedded().map_err(ToString::to_string)?;
    let tools = member(list, "tools").unwrap_or_default();
    let mut shelves: BTreeMap<&str, Vec<(String, Definition)>> = BTreeMap::new();
    for tool in elements(tools).map(|at| at.of(tools)) {
        let listed = Definition::read(tool);
        let (server, original) = cut(&listed.name, sought.known);
        let definition = Definition { name: original.to_owned(), ..listed.clone() };
        shelves.entry(server).or_default().push((listed.name.clone(), definition));
    }
    let mut index = Index::new(model);
    for (server, tools) in &shelves {
        let tools: Vec<_> = tools.iter().map(|(_, definition)| definition.tool()).collect();
        index.replace_server(server, &Server { name: server, description: "" }, &tools);
    }
    let only: Vec<&str> = sought.servers.iter().map(String::as_str).collect();
    let servers = (!only.is_empty()).then_some(only.as_slice());
    let query = Query { text: sought.text, limit: sought.limit, servers, ..Query::default() };
    let found = index.search(&query);
    let found = found.iter().filter_map(|hit| {
        let mut shelf = shelves.get(hit.server)?.iter();
        let (name, definition) = shelf.find(|(_, definition)| definition.name == hit.tool)?;
        Some(ToolMatch {
            name: name.clone(),
            server: hit.server.to_owned(),
            original: hit.tool.to_owned(),
            description: definition.description.clone(),
            score: hit.score,
        })
    });
    Ok((found.collect(), index.count(&query)))
}

/// What finds tools there, if the list is one of Trunkline's that does not show all of them.
pub(crate) fn finder(list: &[u8]) -> Option<String> {
    let names = names(list, "tools", "name");
    let is_there = |name: &str| names.iter().any(|known| known == name);
    let own = |name: &&String| {
        let prefix = name.strip_suffix("search_tools")?;
        let others = ["describe_tools", "call_tool", "call_read_only_tool"];
        others.iter().all(|other| is_there(&format!("{prefix}{other}"))).then_some(())
    };
    names.iter().find(|name| own(name).is_some()).cloned()
}

/// So many are found there at most.
const MOST_THERE: usize = 50;

/// What it is called with.
pub(crate) fn finding(finder: &str, sought: &ToolQuery<'_>) -> Value {
    let limit = sought.limit.clamp(1, MOST_THERE);
    json!({ "name": finder, "arguments": { "query": sought.text, "limit": limit } })
}

/// What it has found; or what it says instead.
pub(crate) fn found_there(result: &[u8]) -> Result<(Vec<ToolMatch>, usize), String> {
    let result: Value = serde_json::from_slice(result).unwrap_or_default();
    let said = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    let Ok(answer) = serde_json::from_str::<Value>(said) else {
        return Err(clean::line(said));
    };
    let text =
        |it: &Value, key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let tool = |it: &Value| {
        let (name, server) = (text(it, "name"), text(it, "server"));
        let original = cut(&name, std::slice::from_ref(&server)).1.to_owned();
        #[expect(clippy::cast_possible_truncation, reason = "from 0 to 1")]
        let score = it.get("score").and_then(Value::as_f64).unwrap_or_default() as f32;
        ToolMatch { name, server, original, description: text(it, "description"), score }
    };
    let found = answer.get("tools").and_then(Value::as_array).into_iter().flatten();
    let searched = answer.get("searched").and_then(Value::as_u64);
    let searched = searched.and_then(|count| usize::try_from(count).ok());
    Ok((found.map(tool).collect(), searched.unwrap_or_default()))
}

/// The server a listed name begins with (the longest that fits) and the tool's own name.
fn cut<'n, 'k>(name: &'n str, known: &'k [String]) -> (&'k str, &'n str) {
    let fit = |key: &&String| {
        let rest = name.strip_prefix(key.as_str());
        rest.is_some_and(|rest| rest.starts_with([':', '.', '/', '_', '-']))
    };
    let Some(key) = known.iter().filter(fit).max_by_key(|key| key.len()) else { return ("", name) };
    let rest = name.get(key.len()..).unwrap_or_default();
    (key, rest.trim_start_matches([':', '.', '/', '_', '-']))
}

pub(crate) fn found_table(found: &[ToolMatch], width: usize) -> String {
    let row = |it: &ToolMatch| {
        let about = it.description.split(['\n', '.']).next().unwrap_or_default();
        [format!("{:.2}", it.score), clean::line(&it.name), clean::line(about.trim())]
    };
    columns(&found.iter().map(row).collect::<Vec<_>>(), "", width)
}

/// In the words of `POST /api/v1/search`, as far as they are known here.
pub(crate) fn found_json(text: &str, found: &[ToolMatch], searched: usize) -> Value {
    let tool = |it: &ToolMatch| {
        // Of a server that is reached by its URL nothing says which tool comes from where.
        let is_known = !it.server.is_empty();
        json!({
            "name": it.name,
            "original_name": is_known.then_some(&it.original),
            "description": it.description,
            "score": (f64::from(it.score) * 10_000.0).round() / 10_000.0,
            "source_server": is_known.then(|| json!({ "name": it.server })),
        })
    };
    let tools: Vec<Value> = found.iter().map(tool).collect();
    json!({ "query": text, "tools": tools, "metadata": { "total_tools_searched": searched } })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &[u8] = br#"{"tools":[
        {"name":"git:create_issue","description":"Create an issue. At once."},
        {"name":"git:log","description":"Show commits"},
        {"name":"meteo__forecast","description":"Rain and wind"},
        {"name":"pick","description":"Picks one"}]}"#;

    #[test]
    fn a_list_that_does_not_show_everything_says_what_finds_the_rest() {
        let list = |names: &[&str]| {
            let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            finder(json!({ "tools": tools }).to_string().as_bytes())
        };
        let own = ["x", "call_read_only_tool", "call_tool", "describe_tools", "search_tools"];
        assert_eq!(list(&own).as_deref(), Some("search_tools"));
        assert_eq!(list(&own[..4]), None);
        assert_eq!(list(&own[2..]), None);
        let other = own.map(|name| format!("trunkline_{name}"));
        let other = other.each_ref().map(String::as_str);
        assert_eq!(list(&other).as_deref(), Some("trunkline_search_tools"));
    }

    #[test]
    fn what_was_found_there_is_read() {
        let said = r#"{"tools":[{"name":"git.log","server":"git","description":"d","score":0.25}],"searched":3}"#;
        let result = |text: &str| json!({ "content": [{ "text": text }] }).to_string();
        let (found, searched) = found_there(result(said).as_bytes()).unwrap();
        assert_eq!((searched, found.len()), (3, 1));
        let ToolMatch { name, server, original, .. } = &found[0];
        assert_eq!([name, server, original], ["git.log", "git", "log"]);
        assert_eq!(found_there(result("no\nway").as_bytes()).unwrap_err(), "no way");
    }

    fn names(text: &str, servers: &[&str]) -> (Vec<String>, usize) {
        let known = ["git", "meteo", "me"].map(str::to_owned);
        let servers: Vec<String> = servers.iter().map(|name| (*name).to_owned()).collect();
        let sought = ToolQuery { text, limit: 2, servers: &servers, known: &known };
        let (found, searched) = search_tools(LIST, &sought).unwrap();
        (found.into_iter().map(|it| it.name).collect(), searched)
    }

    #[test]
    fn tools_are_found_under_the_names_they_are_listed_by() {
        for (text, first) in [
            ("create an issue", "git:create_issue"),
            ("will it rain", "meteo__forecast"),
            ("meteo.forecast", "meteo__forecast"),
            ("pick", "pick"),
        ] {
            assert_eq!(names(text, &[]).0[0], first, "{text}");
        }
        assert_eq!(names("rain", &["git"]).1, 2);
        assert!(names("rain", &["git"]).0.iter().all(|name| name.starts_with("git:")));
        assert_eq!(names("rain", &["nobody"]), (Vec::new(), 0));
    }

    #[test]
    fn what_is_found_is_shown_with_its_score() {
        let found = ToolMatch {
            name: "git:log".to_owned(),
            server: "git".to_owned(),
            original: "log".to_owned(),
            description: "Show commits. All.".to_owned(),
            score: 0.514_9,
        };
        assert_eq!(found_table(std::slice::from_ref(&found), 80), "0.51  git:log  Show commits\n");
        let unknown = ToolMatch { server: String::new(), ..found.clone() };
        let json = found_json("x", &[unknown], 7);
        let tool = &json["tools"][0];
        assert!(tool["source_server"].is_null() && tool["original_name"].is_null(), "{tool}");
        let json = found_json("x", &[found], 7);
        assert_eq!(json["tools"][0]["source_server"]["name"], "git");
        assert_eq!(json["metadata"]["total_tools_searched"], 7);
    }
}
