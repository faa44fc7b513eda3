//! What there is: lists, descriptions, and names that are nearly right.

use kit::config::Fake;
use kit::{ledger, say, scan};
use serde_json::{Value, json};

use super::{Place, everywhere};

const SEARCH: &str = r#"{"name":"search","title":"Find","description":"Finds tickets. All of them.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"Words"},"limit":{"type":"integer","default":10}},"required":["text"]},"annotations":{"readOnlyHint":true},"x":1.0}"#;

fn library(fake: Fake<'_>) -> Fake<'_> {
    fake.tool("search", say::mirror())
        .tool("close", say::mirror())
        .definitions(&[SEARCH, &say::definition("close")])
        .resource("x://a", "Alpha")
        .resource("x://b", "Beta")
        .template("x://doc/{id}", "Documents")
        .prompt("greet", "Says hello")
}

/// The definition of `search` under its exposed name, everything else as the server wrote it.
fn search(place: &Place) -> String {
    SEARCH.replace(r#""name":"search""#, &format!(r#""name":"{}""#, place.tool("search")))
}

#[test]
fn tools_are_listed_with_the_first_sentence_of_what_they_do() {
    everywhere(library, |place| {
        let (close, search) = (place.tool("close"), place.tool("search"));
        let expected = format!("{close}\n{search}  Finds tickets\n");
        assert_eq!(place.run(&["tools"]).text(), expected);
    });
}

#[test]
fn tools_as_json_are_the_list_as_it_came() {
    everywhere(library, |place| {
        let out = place.run(&["tools", "--json"]);
        let list = out.good().strip_suffix(b"\n").expect("one line");
        let tools = scan::get(list, "tools").and_then(scan::elements).expect("a list");
        assert_eq!(tools.len(), 2, "{out}");
        assert!(tools.contains(&search(place).as_bytes()), "{out}");
    });
}

#[test]
fn a_tool_is_described_with_its_arguments_and_its_schema() {
    everywhere(library, |place| {
        let out = place.run(&["tools", &place.tool("search")]);
        let text = out.text();
        for part in [
            &format!("{} (Find)\n", place.tool("search"))[..],
            "\n  Finds tickets. All of them.\n",
            "\n  changes nothing\n",
            "\nArguments\n",
            "\n  text   string   required  ",
            "\n  limit  integer  default 10\n",
            "\nInput schema\n",
        ] {
            assert!(text.contains(part), "no {part:?} in {out}");
        }
        let out = place.run(&["tools", &place.tool("search"), "--json"]);
        assert_eq!(out.text(), format!("{}\n", search(place)));
    });
}

#[test]
fn resources_and_templates_are_listed() {
    everywhere(library, |place| {
        let out = place.run(&["resources"]);
        let lines: Vec<&str> = out.text().lines().collect();
        let templates = lines.iter().position(|line| *line == "Templates").expect("templates");
        assert!(lines[..templates].iter().any(|line| line.starts_with("x://a  ")), "{out}");
        assert!(lines[..templates].iter().any(|line| line.contains("Beta")), "{out}");
        assert!(lines[templates..].iter().any(|line| line.contains("x://doc/{id}")), "{out}");
        let out = place.run(&["resources", "--json"]);
        let both: Value = serde_json::from_slice(out.good()).expect("one JSON object");
        assert_eq!(both["resources"].as_array().map(Vec::len), Some(2), "{out}");
        assert_eq!(both["resourceTemplates"][0]["uriTemplate"], "x://doc/{id}", "{out}");
    });
}

#[test]
fn prompts_are_listed_with_their_arguments() {
    everywhere(library, |place| {
        let out = place.run(&["prompts"]);
        assert!(out.text().starts_with("greet  [topic]  "), "{out}");
        assert!(out.text().contains("Says hello"), "{out}");
        let out = place.run(&["prompts", "--json"]);
        let list: Value = serde_json::from_slice(out.good()).expect("one JSON object");
        assert_eq!(list["prompts"][0]["name"], "greet", "{out}");
    });
}

#[test]
fn nothing_is_said_to_be_nothing() {
    everywhere(
        |fake| fake,
        |place| {
            assert_eq!(place.run(&["tools"]).text(), "no tools\n");
            assert_eq!(place.run(&["resources"]).text(), "no resources\n");
            assert_eq!(place.run(&["prompts"]).text(), "no prompts\n");
        },
    );
}

#[test]
fn a_name_that_is_nearly_right_is_asked_about() {
    everywhere(library, |place| {
        let meant = |what: &str| format!("did you mean `{what}`?");
        let search = place.tool("search");
        let near = place.tool("serach");
        for command in ["tools", "call"] {
            let said = [&format!("there is no tool `{near}`")[..], &meant(&search)];
            place.run(&[command, &near]).bad(1, &said);
        }
        let said = ["there is no prompt `great`", &meant("greet")];
        place.run(&["prompts", "great"]).bad(1, &said);
        let none = place.run(&["tools", "nothing-like-it"]);
        none.bad(1, &["there is no tool `nothing-like-it`\n"]);
        assert!(!none.stderr.contains("did you mean"), "{none}");
    });
}

#[test]
fn a_resource_that_is_nearly_right_is_asked_about() {
    everywhere(
        |fake| fake.resource("x://notes", "Notes").resource("x://other", "Other"),
        |place| {
            let said = ["there is no resource `x://nots`", "did you mean `x://notes`?"];
            place.run(&["resources", "x://nots"]).bad(1, &said);
        },
    );
}

#[test]
fn a_bare_name_is_found_behind_its_prefix() {
    let place = Place::new(library);
    place.run(&["call", "search", "text=x"]).bad(1, &["did you mean `s:search`?"]);
    assert!(ledger::calls(&place.room.ledger("s")).is_empty(), "nothing is guessed");
}

#[test]
fn names_can_be_made_for_a_client_or_with_another_separator() {
    let place = Place::new(library);
    for (flags, name) in
        [(&["--for", "openai"][..], "s__search"), (&["--separator", "/"][..], "s/search")]
    {
        let list = place.run(&[&["tools"], flags].concat());
        assert!(list.text().contains(name), "{list}");
        let call = place.run(&[&["call", name, "text=x", "--json"], flags].concat());
        assert_eq!(call.text(), "{\"text\":\"x\"}\n");
    }
}

#[test]
fn every_page_of_a_long_list_is_there() {
    everywhere(
        |fake| fake.generated(250, 20),
        |place| {
            let out = place.run(&["tools"]);
            assert_eq!(out.text().lines().count(), 250, "{out}");
        },
    );
}

#[test]
fn filters_and_custom_tools_hold_here_too() {
    let place = Place::new(library);
    let mut entry = library(place.room.fake("s")).entry();
    entry["hiddenTools"] = json!(["close"]);
    let custom = json!({ "desk": { "description": "Both.",
        "subtools": { "s": { "tools": ["search", "close"] } } } });
    place.room.config_with([("s", entry)], custom);
    let list = place.run(&["tools"]);
    let (off, on): (Vec<&str>, Vec<&str>) =
        list.text().lines().partition(|line| line.ends_with("(off)"));
    let names: Vec<&str> = on.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["desk", "s:search"], "{list}");
    assert_eq!(off, ["s:close  (off)"], "{list}");
    place.run(&["call", "s:close"]).bad(1, &["there is no tool `s:close`"]);
    let args = ["server=s", "tool=close", "args={\"n\":1.0}"];
    let call = place.run(&[&["call", "desk", "--json"], &args[..]].concat());
    assert_eq!(call.text(), "{\"n\":1.0}\n");
}

#[test]
fn a_search_finds_the_tool_that_does_it_and_says_how_sure_that_is() {
    everywhere(library, |place| {
        let found = place.run(&["search", "look for a ticket"]);
        let found = found.text();
        let first = found.lines().next().unwrap_or_default();
        assert!(first.contains(&place.tool("search")), "{found}");
        let out = place.run(&["search", &place.tool("close"), "--json", "--limit", "1"]);
        let json: Value = serde_json::from_slice(out.good()).expect("JSON");
        assert_eq!(json["tools"][0]["name"], place.tool("close"), "{json:#}");
        assert_eq!(json["tools"].as_array().map(Vec::len), Some(1));
        assert_eq!(json["metadata"]["total_tools_searched"], 2);
    });
    let place = Place::new(library);
    let named = place.run(&["search", "ticket", "--server", "s", "--json"]);
    let json: Value = serde_json::from_slice(named.good()).expect("JSON");
    assert_eq!(json["tools"][0]["source_server"]["name"], "s");
    let wrong = place.run(&["search", "ticket", "--server", "ss"]);
    wrong.bad(1, &["there is no server `ss`"]);
}
