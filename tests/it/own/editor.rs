//! `trunkline edit`: only a text that passes the check is written.

use kit::room::Room;
use kit::run::run;
use kit::terminal::Terminal;

use super::{good, put, text, trunkline};

const BEFORE: &str =
    "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"true\", \"disabled\": true}}\n}\n";

/// An editor that applies this script of `sed`.
fn editor(room: &Room, sed: &str) -> String {
    executable(room, &format!("sed -i '{sed}' \"$1\"\n"))
}

fn executable(room: &Room, script: &str) -> String {
    room.script("editor", script).to_str().unwrap().to_owned()
}

#[test]
fn a_good_edit_is_written_and_can_be_undone() {
    let room = Room::new();
    put(&room, BEFORE);
    let mut command = trunkline(&room, &["edit"]);
    command.env("EDITOR", editor(&room, "s/mine/ours/"));
    run(command, b"").good();
    assert_eq!(text(&room), BEFORE.replace("mine", "ours"));
    good(&room, &["undo"]);
    assert_eq!(text(&room), BEFORE);
    let mut command = trunkline(&room, &["edit"]);
    command.env("VISUAL", "true");
    let out = run(command, b"");
    assert!(out.code == Some(0) && out.stderr.contains("was not changed"), "{out}");
}

#[test]
fn a_mistake_is_not_written_and_what_was_typed_is_kept() {
    for (sed, code, part) in [
        ("s/command/comand/", 2, "did you mean `command`?"),
        ("s/{\"a\"/\"a\"/", 2, "nothing was written"),
        ("s/\"disabled\": true/\"args\": []/", 1, "a did not start"),
        ("s/x/x/; $ d", 2, "nothing was written"),
    ] {
        let room = Room::new();
        put(&room, BEFORE);
        let mut command = trunkline(&room, &["edit"]);
        command.env("EDITOR", editor(&room, sed));
        let out = run(command, b"");
        out.bad(code, &[part, "your text is in "]);
        assert_eq!(text(&room), BEFORE, "{sed}");
        let kept = out.stderr.split("your text is in ").nth(1).unwrap().lines().next().unwrap();
        assert_ne!(std::fs::read_to_string(kept).unwrap(), BEFORE);
    }
    let room = Room::new();
    put(&room, BEFORE);
    let mut command = trunkline(&room, &["edit"]);
    command.env("EDITOR", "false");
    run(command, b"").bad(2, &["the editor", "EDITOR"]);
}

#[test]
fn at_a_terminal_a_mistake_may_be_mended() {
    let room = Room::new();
    put(&room, BEFORE);
    // Breaks it the first time, mends it the second.
    let first = room.path("first");
    let script = format!(
        "if [ -e '{0}' ]; then sed -i 's/cmmand/command/; s/mine/ours/' \"$1\"; \
         else touch '{0}'; sed -i 's/command/cmmand/' \"$1\"; fi\n",
        first.display()
    );
    let mut command = trunkline(&room, &["edit"]);
    command.env("EDITOR", executable(&room, &script));
    let mut terminal = Terminal::spawn(&command);
    terminal.wait("[e]dit again");
    terminal.write("e\n");
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert_eq!(text(&room), BEFORE.replace("mine", "ours"));
}
