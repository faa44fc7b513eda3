//! An embedding endpoint is asked before the model in the program, and done without whenever it is slow,
//! broken, away, or answers what cannot be.

use std::time::Duration;

use kit::llm::{Asked, Llm, Said};
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use kit::{LIMIT, process};
use serde_json::{Value, json};

use super::search::{SEARCH, Tools, offer};

const WEATHER: (&str, Tools) = ("weather", &[("forecast", "Wind and rain"), ("tides", "The sea")]);
const HOUSE: (&str, Tools) = ("house", &[("open_door", "Opens a door")]);

/// Nobody's words: only the endpoint can say what it means.
const QUESTION: &str = "qwrtz";

fn texts(asked: &Asked) -> Vec<String> {
    let input = asked.body["input"].as_array().cloned().unwrap_or_default();
    input.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
}

/// Says that the question means `tides`, in vectors of this length.
fn vectors(asked: &Asked, width: usize) -> Said {
    let vector = |text: &String| {
        let mut numbers = vec![0.0; width];
        let meant = text == QUESTION || text.contains("tides");
        numbers[usize::from(!meant)] = 0.5;
        numbers
    };
    let data: Vec<Value> = texts(asked)
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "index": index, "embedding": vector(text) }))
        .rev()
        .collect();
    said(&json!({ "object": "list", "data": data, "model": "m" }))
}

fn said(body: &Value) -> Said {
    Said { body: body.to_string(), ..Said::status(200) }
}

fn platform(room: &Room, endpoint: &Llm, more: &[&str]) -> Platform {
    let url = endpoint.url();
    let mut flags =
        vec!["--allow-net", "127.0.0.0/8", "--embed-url", &url, "--embed-model", "vec-1"];
    flags.extend(more);
    let mut command = room.platform_command(&flags);
    command.env("TRUNKLINE_EMBED_KEY", "sk-of-the-tests");
    Platform::start(command)
}

fn search(platform: &Platform) -> Value {
    platform.rest(Some(ADMIN)).post(SEARCH, &json!({ "query": QUESTION })).is(200)
}

/// Waits until the last word has this one.
#[track_caller]
fn wait_source(platform: &Platform, source: &str) -> Value {
    let mut last = Value::Null;
    process::wait_until(&format!("found by {source}"), LIMIT, || {
        last = search(platform);
        last["metadata"]["embeddings"]["source"] == source
    });
    last
}

#[track_caller]
fn wait_trouble(platform: &Platform, why: &str) -> Value {
    let mut last = Value::Null;
    process::wait_until(&format!("trouble: {why}"), LIMIT, || {
        last = search(platform);
        let trouble = last["metadata"]["embeddings"]["trouble"].as_str().unwrap_or_default();
        trouble.contains(why)
    });
    assert_eq!(last["metadata"]["embeddings"]["source"], "built-in", "{last:#}");
    last
}

#[test]
fn the_word_of_the_endpoint_counts_for_rest_and_for_mcp() {
    let room = Room::new();
    let endpoint = Llm::start(|asked| vectors(asked, 3));
    let platform = platform(&room, &endpoint, &["--expose", "search"]);
    offer(&room, &platform, WEATHER);
    let answer = wait_source(&platform, "endpoint");
    assert_eq!(answer["tools"][0]["name"], "weather.tides", "{answer:#}");
    assert!(answer["tools"][0]["score"].as_f64().is_some_and(|score| score > 0.49), "{answer:#}");
    assert_eq!(answer["metadata"]["embeddings"]["tools_known"], 2);
    assert_eq!(answer["metadata"]["embeddings"]["model"], "vec-1");
    // What comes later is asked about as well, and only that.
    let before = endpoint.asked().len();
    offer(&room, &platform, HOUSE);
    process::wait_until("three tools are known", LIMIT, || {
        search(&platform)["metadata"]["embeddings"]["tools_known"] == 3
    });
    wait_source(&platform, "endpoint");
    let later: Vec<String> = endpoint.asked().iter().skip(before).flat_map(texts).collect();
    assert_eq!(later.len(), 1, "{later:?}");
    assert!(later[0].contains("open_door"), "{later:?}");
    let client = platform.mcp(ADMIN);
    let answer = client.call("search_tools", &format!(r#"{{"query":"{QUESTION}"}}"#));
    let text = answer.to_string();
    assert!(text.contains(r#"{\"tools\":[{\"name\":\"weather.tides\""#), "{text}");
}

#[test]
fn what_is_sent_is_the_text_of_tools_and_questions_with_the_key() {
    let room = Room::new();
    let endpoint = Llm::start(|asked| vectors(asked, 3));
    let platform = platform(&room, &endpoint, &[]);
    offer(&room, &platform, WEATHER);
    wait_source(&platform, "endpoint");
    for asked in endpoint.asked() {
        assert!(asked.head.starts_with("POST /v1/embeddings "), "{}", asked.head);
        assert_eq!(asked.header("authorization"), Some("Bearer sk-of-the-tests"));
        assert_eq!(asked.body["model"], "vec-1");
        let allowed =
            ["weather forecast: Wind and rain title", "weather tides: The sea title", QUESTION];
        for text in texts(&asked) {
            assert!(allowed.contains(&text.as_str()), "{text}");
        }
    }
    let questions = |endpoint: &Llm| {
        endpoint.asked().iter().flat_map(texts).filter(|text| text == QUESTION).count()
    };
    let before = questions(&endpoint);
    search(&platform);
    assert_eq!(questions(&endpoint), before, "the same question is not asked again");
}

#[test]
fn an_endpoint_that_is_of_no_use_is_done_without_and_its_trouble_shown() {
    for (why, answer) in [
        ("HTTP 401", Said::status(401)),
        ("HTTP 500", Said::status(500)),
        ("no JSON", Said { body: "<html>".to_owned(), ..Said::status(200) }),
        ("no `data`", said(&json!({ "error": "x" }))),
        ("vectors for", said(&json!({ "data": [] }))),
    ] {
        let room = Room::new();
        let endpoint = Llm::start(move |_| answer.clone());
        let platform = platform(&room, &endpoint, &[]);
        offer(&room, &platform, WEATHER);
        wait_trouble(&platform, why);
        let words = json!({ "query": "wind and rain" });
        let answer = platform.rest(Some(ADMIN)).post(SEARCH, &words).is(200);
        assert_eq!(answer["tools"][0]["name"], "weather.forecast", "{why}: {answer:#}");
        let words = "the embedding endpoint is of no use";
        platform.serve().process().wait_stderr(&[words], LIMIT);
        let log = platform.serve().process().stderr();
        assert_eq!(log.matches(words).count(), 1, "{log}");
    }
}

#[test]
fn a_slow_endpoint_is_not_waited_for() {
    let room = Room::new();
    let endpoint = Llm::start(|asked| vectors(asked, 3));
    let platform = platform(&room, &endpoint, &[]);
    offer(&room, &platform, WEATHER);
    wait_source(&platform, "endpoint");
    endpoint.now(|asked| vectors(asked, 3).after(Duration::from_secs(600)));
    let other = json!({ "query": "wind and rain" });
    let answer = platform.rest(Some(ADMIN)).post(SEARCH, &other).is(200);
    assert_eq!(answer["metadata"]["embeddings"]["source"], "built-in", "{answer:#}");
    assert_eq!(answer["tools"][0]["name"], "weather.forecast", "{answer:#}");
}

#[test]
fn vectors_of_another_length_are_not_taken_and_what_flaps_is_taken_back() {
    let room = Room::new();
    let endpoint = Llm::start(|asked| vectors(asked, 3));
    let platform = platform(&room, &endpoint, &[]);
    offer(&room, &platform, WEATHER);
    wait_source(&platform, "endpoint");
    endpoint.now(|asked| vectors(asked, 5));
    offer(&room, &platform, HOUSE);
    wait_trouble(&platform, "its vectors have 5 numbers, and had 3");
    endpoint.now(|_| Said::status(503));
    wait_trouble(&platform, "HTTP 503");
    endpoint.now(|asked| vectors(asked, 3));
    let answer = wait_source(&platform, "endpoint");
    assert_eq!(answer["tools"][0]["name"], "weather.tides", "{answer:#}");
    assert!(answer["metadata"]["embeddings"].get("trouble").is_none(), "{answer:#}");
}

/// Refuses what is longer, as models with a short window do.
fn short_of_breath(asked: &Asked, longest: usize) -> Said {
    match texts(asked).iter().any(|text| text.len() > longest) {
        true => Said::status(400),
        false => vectors(asked, 3),
    }
}

#[test]
fn a_text_that_the_endpoint_does_not_take_is_in_nobodys_way() {
    let room = Room::new();
    let endpoint = Llm::start(|asked| short_of_breath(asked, 1_000));
    let platform = platform(&room, &endpoint, &[]);
    offer(&room, &platform, WEATHER);
    let long: &'static str = "blah ".repeat(2_000).leak();
    offer(&room, &platform, ("endless", [("talk", long), ("tell", "Tells")].to_vec().leak()));
    offer(&room, &platform, HOUSE);
    process::wait_until("five tools are known", LIMIT, || {
        search(&platform)["metadata"]["embeddings"]["tools_known"] == 5
    });
    let answer = wait_source(&platform, "endpoint");
    assert_eq!(answer["tools"][0]["name"], "weather.tides", "{answer:#}");
    // A question that it does not take is answered by the model in the program, and the next by it.
    let question = json!({ "query": "wind and rain ".repeat(100) });
    let answer = platform.rest(Some(ADMIN)).post(SEARCH, &question).is(200);
    assert_eq!(answer["metadata"]["embeddings"]["source"], "built-in", "{answer:#}");
    let other = json!({ "query": "the sea" });
    let answer = platform.rest(Some(ADMIN)).post(SEARCH, &other).is(200);
    assert_eq!(answer["metadata"]["embeddings"]["source"], "endpoint", "{answer:#}");
    assert!(answer["metadata"]["embeddings"].get("trouble").is_none(), "{answer:#}");
}
