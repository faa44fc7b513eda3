//! What comes back: text for people, bytes for programs, files for the rest.

use kit::config::Fake;
use kit::{corpus, say};

use super::{Place, everywhere};

const TWO_TEXTS: &str = r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two\n"}],"structuredContent":{"a":1}}"#;
const STRUCTURED: &str = r#"{"content":[],"structuredContent":{"b":2.50,"a":[1]}}"#;
const MIXED: &str = r#"{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"iVBORwD/"},{"type":"audio","mimeType":"audio/wav","data":"AAEC"},{"type":"resource","resource":{"uri":"x://in","text":"inside"}},{"type":"resource_link","uri":"x://far","name":"Far"},{"type":"hologram","n":1}]}"#;
const FAILED: &str = r#"{"content":[{"type":"text","text":"no such ticket"}],"isError":true}"#;
const FAILED_MUTELY: &str = r#"{"content":[],"isError":true}"#;
const BINARY: &str =
    r#"{"contents":[{"uri":"x://bin","mimeType":"image/png","blob":"iVBORwD/CgA="}]}"#;
const TEXT: &str = r#"{"contents":[{"uri":"x://text","text":"no newline at the end"}]}"#;
const SEVERAL: &str = r#"{"contents":[{"uri":"x://1","blob":"AAA="},{"uri":"x://2","text":"words"},{"uri":"x://3","blob":"//8="}]}"#;

/// What `blob` of [`BINARY`] holds.
const BYTES: &[u8] = b"\x89PNG\x00\xff\x0a\x00";

fn server(fake: Fake<'_>) -> Fake<'_> {
    let answers = |raw: &str| say::steps([say::result(raw)]);
    let refuse =
        say::steps([say::error(r#"{"code":-31050,"message":"not today","data":{"why":1.0}}"#)]);
    fake.tool("texts", answers(TWO_TEXTS))
        .tool("structured", answers(STRUCTURED))
        .tool("mixed", answers(MIXED))
        .tool("nothing", answers(r#"{"content":[]}"#))
        .tool("failed", answers(FAILED))
        .tool("mute", answers(FAILED_MUTELY))
        .tool("refuse", refuse)
        .tool("mirror", say::mirror())
        .resource("x://bin", "Binary")
        .read("x://bin", answers(BINARY))
        .read("x://text", answers(TEXT))
        .read("x://several", answers(SEVERAL))
        .prompt("greet", "Says hello")
}

#[test]
fn text_is_printed_plainly() {
    everywhere(server, |place| {
        assert_eq!(place.call("texts", &[]).text(), "one\ntwo\n");
        assert_eq!(place.call("nothing", &[]).text(), "");
        let pretty = "{\n  \"b\": 2.50,\n  \"a\": [\n    1\n  ]\n}\n";
        assert_eq!(place.call("structured", &[]).text(), pretty);
    });
}

#[test]
fn what_is_no_text_is_a_line() {
    let place = Place::new(server);
    let expected = "see\n[image image/png, 6 bytes]\n[audio audio/wav, 3 bytes]\ninside\n\
                    [resource x://far, Far]\n{\"type\":\"hologram\",\"n\":1}\n";
    assert_eq!(place.call("mixed", &[]).text(), expected);
}

#[test]
fn json_is_the_result_byte_for_byte() {
    everywhere(server, |place| {
        for (tool, raw) in [("texts", TWO_TEXTS), ("mixed", MIXED), ("structured", STRUCTURED)] {
            let raw = place.result(raw, false);
            assert_eq!(place.call(tool, &["--json"]).text(), format!("{raw}\n"));
        }
        let out = place.run(&["resources", "x://bin", "--json"]);
        assert_eq!(out.text(), format!("{}\n", place.result(BINARY, true)));
        let out = place.run(&["prompts", "greet", "topic=é", "--json"]);
        let raw = r#"{"description":"from s","messages":[{"role":"user","content":{"type":"text","text":"greet"}}],"arguments":{"topic":"é"}}"#;
        assert_eq!(out.text(), format!("{}\n", place.result(raw, false)));
    });
}

#[test]
fn json_keeps_every_spelling_of_the_corpus() {
    everywhere(server, |place| {
        let members: Vec<String> =
            corpus::values().iter().enumerate().map(|(n, v)| format!("\"v{n}\":{v}")).collect();
        let whole = format!("{{{}}}", members.join(", "));
        let input = place.room.write("corpus.json", &whole);
        let arguments = ["--json", "--args", &format!("@{}", input.display())];
        let out = place.call("mirror", &arguments);
        let whole = format!("{}\n", place.result(&whole, false));
        assert!(out.good() == whole.as_bytes(), "the corpus has changed: {out}");
    });
}

#[test]
fn a_tools_error_is_a_failure() {
    everywhere(server, |place| {
        place.call("failed", &[]).bad(1, &["error: no such ticket\n"]);
        place.call("mute", &[]).bad(1, &["error: the tool failed and did not say why\n"]);
        let json = place.call("failed", &["--json"]);
        assert_eq!(json.code, Some(1), "{json}");
        let failed = format!("{}\n", place.result(FAILED, false));
        assert_eq!(json.stdout, failed.as_bytes(), "{json}");
    });
}

#[test]
fn a_protocol_error_is_a_failure_with_its_code() {
    everywhere(server, |place| {
        place.call("refuse", &[]).bad(1, &["error: not today (code -31050)\n"]);
        let json = place.call("refuse", &["--json"]);
        let error = r#"{"error":{"code":-31050,"message":"not today","data":{"why":1.0}}}"#;
        json.bad(1, &[error]);
        let code = if place.across { "code -32602" } else { "code -32002" };
        place.run(&["resources", "x://unknown-to-all"]).bad(1, &[code]);
    });
}

#[test]
fn a_resource_is_written_to_a_pipe_byte_for_byte() {
    everywhere(server, |place| {
        assert_eq!(place.run(&["resources", "x://bin"]).good(), BYTES);
        assert_eq!(place.run(&["resources", "x://text"]).good(), b"no newline at the end");
        assert_eq!(place.run(&["resources", "x://several"]).good(), b"\0\0words\xff\xff");
    });
}

#[test]
fn output_keeps_data_in_files() {
    everywhere(server, |place| {
        let path = place.room.path("out.png");
        let flag = path.display().to_string();
        let read = |name: &str| std::fs::read(place.room.path(name)).expect("a file was written");
        let wrote = |done: kit::run::Done, part: &str| {
            assert_eq!(done.code, Some(0), "{done}");
            assert!(done.stderr.contains(part), "{done}");
            done.stdout
        };
        let out = place.run(&["resources", "x://bin", "--output", &flag]);
        assert_eq!(wrote(out, "wrote 8 bytes to"), b"");
        assert_eq!(read("out.png"), BYTES);
        let out = place.run(&["resources", "x://text", "-o", &flag]);
        assert_eq!(wrote(out, "wrote 21 bytes to"), b"");
        assert_eq!(read("out.png"), b"no newline at the end");
        let out = place.call("mixed", &["--output", &flag]);
        let rest = b"see\ninside\n[resource x://far, Far]\n{\"type\":\"hologram\",\"n\":1}\n";
        assert_eq!(wrote(out, "wrote 6 bytes to"), rest);
        assert_eq!((read("out.png"), read("out-2.png")), (BYTES[..6].to_vec(), vec![0, 1, 2]));
        let out = place.call("texts", &["-o", &flag]);
        assert_eq!(wrote(out, "wrote 8 bytes to"), b"");
        assert_eq!(read("out.png"), b"one\ntwo\n");
    });
}

#[test]
fn a_file_that_cannot_be_written_is_a_failure() {
    let place = Place::new(server);
    let nowhere = place.room.path("no/such/dir").display().to_string();
    let out = place.run(&["resources", "x://bin", "--output", &nowhere]);
    out.bad(1, &["no/such/dir cannot be written"]);
    let out = place.call("texts", &["--output", &nowhere]);
    out.bad(1, &["no/such/dir cannot be written"]);
}

#[test]
fn a_prompt_is_printed_under_its_roles() {
    let messages = r#"{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"AAEC"}}]}"#;
    let talk = say::steps([say::result(messages)]);
    everywhere(
        |fake| fake.prompt("talk", "Talks").get("talk", talk.clone()),
        |place| {
            let expected = "user:\nHi\n\nassistant:\n[image image/png, 3 bytes]\n";
            assert_eq!(place.run(&["prompts", "talk"]).text(), expected);
        },
    );
}

#[test]
fn a_template_is_read_by_what_it_expands_to() {
    everywhere(
        |fake| fake.template("x://doc/{id}", "Documents"),
        |place| assert_eq!(place.run(&["resources", "x://doc/7"]).good(), b"from s"),
    );
}

#[test]
fn results_of_many_mib_are_printed_whole() {
    let huge = say::steps([say::huge(20 << 20, say::Place::First)]);
    everywhere(
        |fake| fake.tool("huge", huge.clone()),
        |place| {
            let out = place.call("huge", &[]);
            assert_eq!(out.good().len(), (20 << 20) + 1, "the text and a newline");
        },
    );
}

#[test]
fn a_reader_that_leaves_early_is_no_crash() {
    let place = Place::new(server);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", r#""$@" | head -c 1"#, "sh"]);
    let mine = place.command(&["tools"]);
    command.arg(mine.get_program()).args(mine.get_args());
    let out = kit::run::run(command, b"");
    assert_eq!(out.text(), "s");
}
