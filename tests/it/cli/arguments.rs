//! Arguments on the command line: types by the tool's schema, JSON, files, and what is refused.

use kit::config::Fake;
use kit::{ledger, say};
use serde_json::json;

use super::{Place, everywhere};

const TAKE: &str = r##"{"name":"take","inputSchema":{"type":"object","properties":{
    "text":{"type":"string"},
    "count":{"type":"integer","minimum":1,"maximum":9000000000000000000},
    "ratio":{"type":"number"},
    "loud":{"type":"boolean"},
    "unit":{"type":"string","enum":["celsius","kelvin"]},
    "level":{"enum":[1,2,null]},
    "tags":{"type":"array","items":{"type":"string"}},
    "sizes":{"type":"array","items":{"type":"integer"}},
    "place":{"type":"object","properties":{"city":{"type":"string"},"zip":{"type":"integer"},
        "geo":{"type":"object","properties":{"lat":{"type":"number"}}}},"required":["city"]},
    "points":{"type":"array","items":{"$ref":"#/$defs/Point"}},
    "when":{"anyOf":[{"type":"integer"},{"type":"null"}]},
    "a.b":{"type":"integer"},
    "any":{}
    },"$defs":{"Point":{"type":"object","properties":{"x":{"type":"integer"}}}}}}"##;

const NEED: &str = r#"{"name":"need","inputSchema":{"type":"object","properties":{
    "text":{"type":"string","description":"What to say"},"count":{"type":"integer"}},"required":["text","count"]}}"#;

/// `take` and `open` return their arguments as the whole result; `need` has required ones.
fn server(fake: Fake<'_>) -> Fake<'_> {
    let (take, need) = (TAKE.replace('\n', ""), NEED.replace('\n', ""));
    fake.tool("take", say::mirror())
        .tool("need", say::mirror())
        .tool("open", say::mirror())
        .definitions(&[&take, &need, &say::definition("open")])
}

#[track_caller]
fn sent(place: &Place, tool: &str, arguments: &[&str], expected: &str) {
    let out = place.call(tool, &[arguments, &["--json"]].concat());
    let expected = place.result(expected, false);
    assert_eq!(out.text(), format!("{expected}\n"), "{arguments:?}");
}

#[test]
fn values_have_the_type_of_the_schema() {
    let place = Place::new(server);
    for (arguments, expected) in [
        (&["text=5"][..], r#"{"text":"5"}"#),
        (&["text="], r#"{"text":""}"#),
        (&["text=a=b"], r#"{"text":"a=b"}"#),
        (&["text= ä \"q\" \\ \t"], r#"{"text":" ä \"q\" \\ \t"}"#),
        (&["text=true"], r#"{"text":"true"}"#),
        (&["count=5"], r#"{"count":5}"#),
        (&["count=9000000000000000000"], r#"{"count":9000000000000000000}"#),
        (&["ratio=1.50"], r#"{"ratio":1.50}"#),
        (&["ratio=-1E+2"], r#"{"ratio":-1E+2}"#),
        (&["loud=true"], r#"{"loud":true}"#),
        (&["loud=no"], r#"{"loud":false}"#),
        (&["unit=kelvin"], r#"{"unit":"kelvin"}"#),
        (&["level=2"], r#"{"level":2}"#),
        (&["level=null"], r#"{"level":null}"#),
        (&["when=null"], r#"{"when":null}"#),
        (&["when=7"], r#"{"when":7}"#),
        (&["any=7"], r#"{"any":7}"#),
        (&["any=seven"], r#"{"any":"seven"}"#),
        (&["a.b=7"], r#"{"a.b":7}"#),
        (&["loud=1", "text=x", "count=2"], r#"{"loud":true,"text":"x","count":2}"#),
        (&[], "{}"),
    ] {
        sent(&place, "take", arguments, expected);
    }
}

#[test]
fn arrays_are_repeated_or_json_and_objects_have_parts() {
    let place = Place::new(server);
    for (arguments, expected) in [
        (&["tags=a"][..], r#"{"tags":["a"]}"#),
        (&["tags=a", "tags=1", "tags=a"], r#"{"tags":["a","1","a"]}"#),
        (&[r#"tags=["a", "b"]"#], r#"{"tags":["a", "b"]}"#),
        (&["tags="], r#"{"tags":[]}"#),
        (&["sizes=1", "sizes=2"], r#"{"sizes":[1,2]}"#),
        (&["place.city=Rome"], r#"{"place":{"city":"Rome"}}"#),
        (&["place.zip=1", "place.city=7"], r#"{"place":{"zip":1,"city":"7"}}"#),
        (&["place.city=R", "place.geo.lat=1.0"], r#"{"place":{"city":"R","geo":{"lat":1.0}}}"#),
        (&[r#"place={"city": "R", "x": 1.0}"#], r#"{"place":{"city": "R", "x": 1.0}}"#),
        (&["points.0.x=1", "points.1.x=2"], r#"{"points":[{"x":1},{"x":2}]}"#),
        (&[r#"points={"x":1}"#, r#"points={"x":2}"#], r#"{"points":[{"x":1},{"x":2}]}"#),
    ] {
        sent(&place, "take", arguments, expected);
    }
}

#[test]
fn json_is_sent_as_it_is_whatever_the_schema_says() {
    let place = Place::new(server);
    for (arguments, expected) in [
        (&["count:=\"five\""][..], r#"{"count":"five"}"#),
        (&["new:={ \"a\" : 1.0 }"], r#"{"new":{ "a" : 1.0 }}"#),
        (&["text:=null"], r#"{"text":null}"#),
        (&["tags:=[1,  2]"], r#"{"tags":[1,  2]}"#),
        (&["tags:=1", "tags:=\"b\""], r#"{"tags":[1,"b"]}"#),
        (&["ratio:=1e400"], r#"{"ratio":1e400}"#),
        (&["place.city:=[]"], r#"{"place":{"city":[]}}"#),
    ] {
        sent(&place, "take", arguments, expected);
    }
}

#[test]
fn without_a_schema_what_reads_as_json_is_json() {
    let place = Place::new(server);
    let arguments = ["a=1", "b=x", "c=1", "c=y", "d.e=true", "f=[1]", "g=\"q\"", "h=007"];
    let expected = r#"{"a":1,"b":"x","c":[1,"y"],"d":{"e":true},"f":[1],"g":"\"q\"","h":"007"}"#;
    sent(&place, "open", &arguments, expected);
}

#[test]
fn what_is_wrong_is_said_at_once_and_nothing_is_sent() {
    let place = Place::new(server);
    for (arguments, parts) in [
        (&["count=five"][..], &["`count` must be integer, not `five`"][..]),
        (&["count=1.5"], &["`count` must be integer"]),
        (&["count=0"], &["`count` must be at least 1"]),
        (&["count="], &["`count` must be integer, not ``"]),
        (&["ratio=0x10"], &["`ratio` must be number"]),
        (&["loud=maybe"], &["`loud` must be boolean, not `maybe`"]),
        (&["unit=Kelvn"], &["one of celsius, kelvin", "did you mean `kelvin`?"]),
        (&["level=3"], &["`level` must be one of 1, 2, null"]),
        (&["sizes=1", "sizes=x"], &["`sizes` must be integer, not `x`"]),
        (&["tags=[1"], &["`tags` is not valid JSON"]),
        (&["text=a", "text=b"], &["`text` is given 2 times, but it is not an array"]),
        (&["place.zip=1"], &["`place.city` is missing (string)"]),
        (&["place=Rome"], &["`place` must be object, not `Rome`"]),
        (&["place={}", "place.city=x"], &["both as a whole and in parts"]),
        (&["points.1.x=1"], &["counted from 0"]),
        (&["txt=a"], &["`txt` is not an argument here", "did you mean `text`?"]),
        (&["text:={"], &["`text` is not valid JSON"]),
        (&["count=x", "loud=x", "txt=x"], &["`count`", "`loud`", "`txt`"]),
        (&["text"], &["`text` is not key=value"]),
        (&["=x"], &["`=x` is not key=value"]),
        (&["text=@nowhere"], &["nowhere cannot be read", "`@@…`"]),
        (&["--args", "{"], &["--args must be one JSON object"]),
        (&["--args", "[1]"], &["--args must be one JSON object"]),
        (&["--args", "{} {}"], &["--args must be one JSON object"]),
        (&["--args", "@nowhere"], &["nowhere cannot be read"]),
    ] {
        place.call("take", arguments).bad(2, parts);
    }
    assert!(ledger::calls(&place.room.ledger("s")).is_empty(), "nothing is sent");
}

#[test]
fn what_is_missing_is_shown_with_all_there_is() {
    everywhere(server, |place| {
        let name = place.tool("need");
        let out = place.call("need", &["count=1"]);
        let table = format!(
            "`{name}` takes\n  text   string   required  What to say\n  count  integer  required\n"
        );
        out.bad(2, &["error: `text` is missing (string)\n", &table]);
        place.call("need", &[]).bad(2, &["`text` is missing", "`count` is missing (integer)"]);
        sent(place, "need", &["text=x", "count=2"], r#"{"text":"x","count":2}"#);
        // Whoever writes JSON wants it sent.
        sent(place, "need", &["--args", "{}"], "{}");
    });
}

#[test]
fn files_and_standard_input_are_read() {
    let place = Place::new(server);
    let file = place.room.write("f", "line 1\nline \"2\"\n");
    let json = place.room.write("j", " {\"a\": [1.0, \"\\u00e9\"]}\n");
    let (file, json) = (file.display(), json.display());
    let text = r#"{"text":"line 1\nline \"2\"\n"}"#;
    sent(&place, "take", &[&format!("text=@{file}")], text);
    sent(&place, "take", &["text=@@f"], r#"{"text":"@f"}"#);
    let any = r#"{"any":{"a": [1.0, "\u00e9"]}}"#;
    sent(&place, "take", &[&format!("any:=@{json}")], any);
    let whole = r#"{"a": [1.0, "\u00e9"]}"#;
    sent(&place, "take", &["--args", &format!("@{json}")], whole);
    for (arguments, input, expected) in [
        (&["--args", "-"][..], "{ \"n\" : 1E0 }\n", "{ \"n\" : 1E0 }\n"),
        (&["text=@-"], "typed\n", "{\"text\":\"typed\\n\"}\n"),
    ] {
        let arguments = [&["call", "s:take", "--json"], arguments].concat();
        assert_eq!(place.run_with(&arguments, input.as_bytes()).text(), expected);
    }
    let bytes = place.room.write("b", [0xff, 0xfe]);
    place.call("take", &[&format!("text=@{}", bytes.display())]).bad(2, &["cannot be read"]);
}

#[test]
fn whole_arguments_go_byte_for_byte_and_pairs_replace_their_members() {
    let place = Place::new(server);
    let whole = r#"{ "count" : 1e0 , "count":2, "z":"\u00e9\/" }"#;
    sent(&place, "take", &["--args", whole], whole);
    let mixed = ["--args", r#"{"z": 1.0,"count":1,"y":{ }}"#, "count=2", "text=t"];
    sent(&place, "take", &mixed, r#"{"z":1.0,"y":{ },"count":2,"text":"t"}"#);
    let calls = ledger::calls(&place.room.ledger("s"));
    let first = String::from_utf8_lossy(&calls[0]).into_owned();
    assert!(first.contains(&format!(r#""arguments":{whole}"#)), "{first}");
}

#[test]
fn values_may_start_with_a_dash_and_flags_may_stand_anywhere() {
    let place = Place::new(server);
    let arguments = ["call", "--json", "s:take", "count=5", "--debug", "text=-x", "--args=-"];
    let out = place.run_with(&arguments, b"{\"z\":-1}");
    assert_eq!(out.code, Some(0), "{out}");
    assert_eq!(out.stdout, b"{\"z\":-1,\"count\":5,\"text\":\"-x\"}\n", "{out}");
}

#[test]
fn prompts_take_text_only() {
    let prompt = r#"{"name":"p","arguments":[{"name":"city","required":true,"description":"Where"},{"name":"n"}]}"#;
    let list = json!([prompt]);
    everywhere(
        |fake| fake.list("prompts", list.clone()).get("p", say::messages()),
        |place| {
            let out = place.run(&["prompts", "p", "city=Rome", "n=5", "--json"]);
            assert!(out.text().contains(r#""arguments":{"city":"Rome","n":"5"}"#), "{out}");
            let out = place.run(&["prompts", "p", "n=5"]);
            out.bad(2, &["`city` is missing (string)", "city  string  required  Where"]);
            place.run(&["prompts", "p", "city=x", "x=y"]).bad(2, &["`x` is not an argument here"]);
            place.run(&["prompts", "p", "city"]).bad(2, &["`city` is not key=value"]);
        },
    );
}
