//! Completions, manual pages, colours.

use std::process::{Command, Stdio};

use kit::room::Room;
use kit::terminal::Terminal;

use super::{done, trunkline};

#[test]
fn completions_are_scripts_of_their_shells() {
    let room = Room::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = done(&room, &["completions", shell]);
        assert!(script.text().contains("consolidate"), "{shell}");
    }
    done(&room, &["completions", "tcsh"]).bad(2, &["possible values"]);
    // bash is everywhere, and reads it without complaint
    let script = room.write("completions.bash", done(&room, &["completions", "bash"]).good());
    let syntax = Command::new("bash").arg("-n").arg(script).stderr(Stdio::piped()).output();
    let syntax = syntax.expect("bash is there");
    assert!(syntax.status.success(), "{}", String::from_utf8_lossy(&syntax.stderr));
}

#[test]
fn every_command_has_a_manual_page() {
    let room = Room::new();
    assert!(done(&room, &["man"]).text().contains(".TH trunkline 1"));
    assert!(done(&room, &["man", "doctor"]).text().contains(".SH OPTIONS"));
    done(&room, &["man", "docter"]).bad(2, &["did you mean `doctor`?"]);
    done(&room, &["man", "--dir", "pages"]).good();
    let pages = std::fs::read_dir(room.path("pages")).expect("the folder").count();
    assert!(pages > 20, "{pages}");
}

#[test]
fn colours_are_for_terminals() {
    let room = Room::new();
    room.config([]);
    let escape = '\u{1b}';
    let args = ["doctor", "--config", "mcp.json", "--no-start"];
    let plain = done(&room, &args);
    assert!(!plain.text().contains(escape), "{plain}");
    let forced = done(&room, &[&args[..], &["--color", "always"]].concat());
    assert!(forced.text().contains(escape), "{forced}");
    let config = room.path("mcp.json").display().to_string();
    let shown = |flags: &[&str], no_color: bool| {
        let mut command = trunkline(&room, &["doctor", "--config", &config, "--no-start"]);
        command.args(flags);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let mut terminal = Terminal::spawn(&command);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        terminal.shown().contains(escape)
    };
    assert!(shown(&[], false));
    assert!(!shown(&[], true));
    assert!(!shown(&["--color", "never"], false));
}
