//! What somebody at a terminal sees while servers start.

use kit::room::Room;
use kit::say;
use kit::terminal::Terminal;
use serde_json::json;

use super::trunkline;

/// The line that is written over says how many are up, and is out of the way when the log speaks.
#[test]
fn progress_counts_servers_and_never_shares_a_line_with_the_log() {
    for command in ["check", "doctor"] {
        let room = Room::new();
        // Of two tools of one name the log has to tell.
        let twin = r#"{"name":"twin","inputSchema":{"type":"object"}}"#;
        let good = room.fake("good").definitions(&[twin, twin]).entry();
        let slow = room.fake("slow").at_start(say::steps([say::gate(&room, "go")])).entry();
        let config = room.config([
            ("good", good),
            ("slow", slow),
            ("missing", json!({ "command": "/no/such/program" })),
        ]);
        let mut program = trunkline(&room, &[command, "--config"]);
        program.arg(config);
        if command == "doctor" {
            program.args(["--listen", "127.0.0.1:0"]);
        }
        let mut terminal = Terminal::spawn(&program);
        terminal.wait("1 of 3 up, 1 failed");
        room.open_gate("go");
        terminal.finish();
        let shown = terminal.shown();
        // A line that the log writes begins a line: at the start, behind a line end, or behind an erased one.
        for (at, _) in shown.match_indices("trunkline: ") {
            let before = &shown[..at];
            let is_free = before.is_empty() || before.ends_with(['\n', 'K']);
            assert!(is_free, "{command}: {shown:?}");
        }
        assert!(shown.contains("trunkline: warning"), "{command}: the log has spoken: {shown:?}");
    }
}
