//! What the servers work on: files that never change, and state that each side gets afresh at the
//! same path, because paths stand in arguments and answers.

use std::fs;
use std::process::{Command, Stdio};

use kit::room::Room;
use serde_json::{Map, Value};

use super::peers::{self, PEERS};

/// A room with `fixed/` (read only, made once) and `work/` (made anew for each side).
pub(super) struct Scene {
    pub(super) room: Room,
    /// What `@LONG@` in arguments stands for.
    long: String,
}

impl Scene {
    /// The room with its config; [`Scene::renew`] makes it habitable.
    pub(super) fn new() -> Self {
        let scene =
            Self { room: Room::new(), long: r#"é \u00e9 \"q\" \\ \t 日本 \/ "#.repeat(40_000) };
        scene.make_fixed();
        let entry = |name: &&str| ((*name).to_owned(), peers::entry(&scene, name));
        scene.room.config_of(PEERS.iter().map(entry).collect());
        scene
    }

    /// Everything that calls may have changed is as it was before the first.
    pub(super) fn renew(&self) {
        let work = self.room.path("work");
        drop(fs::remove_dir_all(&work));
        fs::create_dir(&work).expect("the room can be written");
        let mut command = Command::new("/bin/sh");
        command.args(["-euc", STATE]).current_dir(work).stdin(Stdio::null());
        let env = self.environment();
        command.envs(env.iter().map(|(name, value)| (name, value.as_str().expect("text"))));
        let end = command.output().expect("a shell");
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.room.path(name).into_os_string().into_string().expect("the room's path is UTF-8")
    }

    pub(super) fn repository(&self) -> String {
        self.path("work/repository")
    }

    /// Carried by the servers behind a gateway, and by none that was started directly.
    pub(super) fn marker(&self) -> String {
        self.path("behind-a-gateway")
    }

    /// Arguments with the places of this scene.
    pub(super) fn fill(&self, arguments: &str) -> String {
        let arguments = arguments.replace("@FIXED@", &self.path("fixed"));
        let arguments = arguments.replace("@WORK@", &self.path("work"));
        arguments.replace("@REPO@", &self.repository()).replace("@LONG@", &self.long)
    }

    /// The variables that decide what is answered; the same for every side.
    pub(super) fn environment(&self) -> Map<String, Value> {
        let (home, memory) = (self.path("home"), self.path("work/memory.jsonl"));
        let variables = [
            ("HOME", home.as_str()),
            ("LANG", "C.UTF-8"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "Etc/UTC"),
            ("MEMORY_FILE_PATH", &memory),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Zoë Müller"),
            ("GIT_AUTHOR_EMAIL", "zoe@example.org"),
            ("GIT_AUTHOR_DATE", "2024-05-06T07:08:09+0200"),
            ("GIT_COMMITTER_NAME", "Zoë Müller"),
            ("GIT_COMMITTER_EMAIL", "zoe@example.org"),
            ("GIT_COMMITTER_DATE", "2024-05-06T07:08:09+0200"),
        ];
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
    }

    fn make_fixed(&self) {
        for directory in ["home", "fixed", "fixed/tree/a/b"] {
            fs::create_dir_all(self.room.path(directory)).expect("the room can be written");
        }
        let line = |n: u32| format!("line {n}: \"quoted\" \\ back\tslash\n");
        let lines: String = (0..120_000).map(line).collect();
        let bytes: Vec<u8> = (0..=255).collect();
        let files = [
            ("plain.txt", b"one\ntwo\r\nthree\n\nfive".to_vec()),
            ("empty.txt", Vec::new()),
            ("unicode.txt", UNICODE.into()),
            ("large-unicode.txt", UNICODE.repeat(20_000).into()),
            ("control.txt", bytes[..128].to_vec()),
            ("not-utf-8.txt", bytes.clone()),
            ("tone.wav", bytes.repeat(1000)),
            ("dot.png", bytes),
            ("large.txt", lines.into()),
            ("one-line.txt", b"0123456789abcdef".repeat(3 << 16)),
            ("tree/a/b/c.txt", b"c".to_vec()),
            // Its times are told, so it is never read.
            ("tree/never-read.md", b"# d".to_vec()),
        ];
        for (name, content) in files {
            self.room.write(&format!("fixed/{name}"), content);
        }
    }
}

const UNICODE: &str =
    "Grüße, 日本語, 😀, e\u{301}, \u{202e}abc\u{202c}, \u{2028}\u{2029}, \u{feff}, \u{10ffff}.\n";

/// The state before the first call: a file to edit and a repository with everything in it.
const STATE: &str = r#"
printf 'first\nsecond\nthird\n' > notes.txt
git init --quiet --initial-branch=main repository
cd repository
at() { export GIT_AUTHOR_DATE="2024-01-0$1T12:00:00+0100" GIT_COMMITTER_DATE="2024-01-0$1T12:00:00+0100"; }
printf 'one\ntwo\nthree\n' > numbers.txt
mkdir directory
printf 'naïve 日本語 😀\n' > directory/unicode.txt
# Only where it is shown: `git_diff` of the server never answers when such bytes are in its way.
printf 'caf\351\n' > latin-1.txt
git add .
at 1; git commit --quiet -m 'first commit' -m 'with a body, "quotes" and a \ backslash'
git tag v1
seq 1 60000 | sed 's/$/ "quoted" 日本/' > long.txt
git add .
at 2; git commit --quiet -m 'ein langer Text: Größe'
git branch side
printf 'one\n2\nthree\nfour\n' > numbers.txt
git rm --quiet directory/unicode.txt
git add .
at 3; git commit --quiet -m 'third 🎉'
printf 'one\n2\n3\nfour\n' > numbers.txt
printf 'staged\n' > staged.txt
git add staged.txt
printf 'not tracked\n' > untracked.txt
"#;
