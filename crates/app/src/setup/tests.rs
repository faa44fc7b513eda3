//! Files of several clients, moved and put back, without starting anything.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;
use trunkline_catalog::client::{Client, FileFormat, System};

use super::apply::apply_with;
use super::plan::SetupPlan;
use super::record::{self, SetupLock, record_file};
use super::undo::Undone;
use super::{ListedTools, SetupRequest, apply, estimated, find, plan, undo};
use crate::install::{CurrentFile, UserFolders, user_files};

struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-setup-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(std::fs::canonicalize(path).unwrap())
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap()
    }

    /// Every file of the home with its text.
    fn all(&self) -> Vec<(PathBuf, String)> {
        let (mut all, mut open) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => open.push(path),
                    false => all.push((path.clone(), std::fs::read_to_string(&path).unwrap())),
                }
            }
        }
        all.sort();
        all
    }

    fn request(&self) -> SetupRequest {
        SetupRequest {
            clients: Client::with_config().map(|(client, _)| client).collect(),
            config: self.0.join(".config/trunkline/config.json"),
            executable: "/opt/bin/trunkline".into(),
            flags: Vec::new(),
            separate: false,
            project: None,
            folders: UserFolders {
                current_dir: self.0.join("work"),
                ..UserFolders::in_home(System::Linux, &self.0)
            },
            now: UNIX_EPOCH + Duration::from_secs(1_794_736_800),
        }
    }

    fn plan(&self, request: &SetupRequest) -> SetupPlan {
        let config = CurrentFile::read(&request.config).unwrap();
        plan(request, find(request), config.content(), &|_| Vec::new()).unwrap()
    }

    fn setup(&self) -> SetupPlan {
        let request = self.request();
        let plan = self.plan(&request);
        let applied = apply(&plan, request.now).unwrap();
        assert!(applied.failed.is_empty() && applied.overtaken.is_empty(), "{applied:?}");
        plan
    }

    fn undo(&self) -> Undone {
        let request = self.request();
        undo(&request.config, &request.folders, request.now, false).unwrap().unwrap()
    }

    fn config(&self) -> Value {
        serde_json::from_str(&self.text(".config/trunkline/config.json")).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

const CURSOR: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"git\": {\"command\": \"npx\", \"args\": [\"-y\", \"git-mcp\"], \"disabled\": true}, // one\n    \"web\": {\"url\": \"https://h/mcp\", \"headers\": {\"A\": \"${env:WEB_KEY}\"}},\n  },\n}\n";
const CODEX: &str = "# top\nmodel = \"m\"\n\n[mcp_servers.git-tools] # same as the other\ncommand = \"npx\"\nargs = [\"git-mcp\"]\n\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"time\"]\n\n# end\n[tui]\nx = 1\n";
const CLAUDE: &str = "{\"numStartups\":3,\"mcpServers\":{},\"projects\":{\"HOME/work\":{\"mcpServers\":{\"local\":{\"command\":\"l\"}}}}}";
const CONTINUE: &str = "name: me\nmodels: []\nmcpServers:\n  # the database\n  - name: db\n    command: uvx\n    args:\n      - db-mcp\n    env:\n      KEY: ${{ secrets.DB_KEY }}\n  # the second\n  - name: api\n    type: streamable-http\n    url: https://api/mcp\n    requestOptions:\n      headers:\n        Authorization: Bearer s3cret\n# rules\nrules: []\n";

fn filled() -> Home {
    let home = Home::new();
    home.put(".cursor/mcp.json", CURSOR);
    home.put(".codex/config.toml", CODEX);
    home.put(".claude.json", &CLAUDE.replace("HOME", &home.0.display().to_string()));
    home.put(".continue/config.yaml", CONTINUE);
    home.put("work/.mcp.json", "{\"mcpServers\": {\"team\": {\"command\": \"t\"}}}");
    home
}

/// It is ended right before or right behind each writing of its record, which is before each file is replaced.
#[test]
fn a_setup_that_is_ended_at_any_moment_can_be_undone() {
    use crate::install::InstallError;
    for (last, behind) in (0..6).flat_map(|last| [(last, false), (last, true)]) {
        let home = filled();
        let before = home.all();
        let request = home.request();
        let plan = home.plan(&request);
        let mut count = 0;
        let outcome = apply_with(&plan, request.now, &mut |runs| {
            count += 1;
            if count <= last || (behind && count == last + 1) {
                record::write(&record_file(&request.config), runs)?;
            }
            if count <= last { Ok(()) } else { Err(InstallError::NoHome) }
        });
        assert!(outcome.is_err() || outcome.is_ok_and(|it| !it.failed.is_empty()), "{last}");
        let undone = undo(&request.config, &request.folders, request.now, false).unwrap();
        assert_eq!(undone.is_some(), last > 0 || behind, "what was recorded is undone");
        assert!(undone.is_none_or(|it| it.left.is_empty()), "{last} {behind}");
        assert_eq!(home.all(), before, "{last} {behind}");
    }
}

#[test]
fn two_setups_do_not_write_at_once() {
    let home = filled();
    let request = home.request();
    let plan = home.plan(&request);
    let other = SetupLock::take(&request.config).unwrap();
    let refused = apply(&plan, request.now).unwrap_err().to_string();
    assert!(refused.contains("another `trunkline setup`"), "{refused}");
    drop(other);
    assert!(apply(&plan, request.now).is_ok());
}

#[test]
fn each_server_is_there_once_and_every_byte_comes_back() {
    let home = filled();
    let before = home.all();
    let plan = home.setup();
    let names: Vec<&str> = plan.new.iter().map(|it| it.server.name.as_str()).collect();
    assert_eq!(names, ["git", "web", "time", "db", "api"]);
    assert_eq!(plan.new[0].from.len(), 2);
    assert_eq!(plan.of_project.iter().map(|(.., count)| count).sum::<usize>(), 2);
    let servers = home.config()["mcpServers"].clone();
    // On in one of two clients is on; what may be unset does not keep the others from starting.
    assert_eq!(servers["git"].get("disabled"), None);
    assert_eq!(servers["web"]["headers"]["A"], "${WEB_KEY:-}");
    assert_eq!(servers["db"]["env"]["KEY"], "${DB_KEY:-}");
    assert_eq!(servers["api"]["headers"]["Authorization"], "Bearer s3cret");
    for (file, kept) in [
        (".cursor/mcp.json", vec!["// mine", "trunkline"]),
        (
            ".codex/config.toml",
            vec!["# top", "# end", "[mcp_servers.trunkline]", "required = true"],
        ),
        (".claude.json", vec!["\"numStartups\":3", "\"local\"", "trunkline"]),
        (".continue/config.yaml", vec!["mcpServers: []", "# rules", "models: []"]),
        (".continue/mcpServers/mcp.json", vec!["\"--for\", \"continue\""]),
    ] {
        let text = home.text(file);
        kept.iter().for_each(|part| assert!(text.contains(part), "{file}: {text}"));
        assert!(!text.contains("git-mcp") && !text.contains("s3cret"), "{file}: {text}");
    }
    let after = home.all();
    assert!(home.plan(&home.request()).is_done());
    assert_eq!(home.all(), after);
    let undone = home.undo();
    assert!(undone.left.is_empty() && undone.servers_only.is_empty(), "{undone:?}");
    assert_eq!(home.all(), before);
    assert!(
        undo(&home.request().config, &home.request().folders, UNIX_EPOCH, false).unwrap().is_none()
    );
}

/// Wherever this test runs: every client of each system, in files as editors of Windows leave them.
#[test]
fn a_setup_of_every_client_is_undone_to_the_byte_on_every_system() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/clients");
    for system in System::ALL {
        let home = Home::new();
        let mut request = home.request();
        request.folders = UserFolders::in_home(system, &home.0);
        for (client, spec) in Client::with_config() {
            let extension = match spec.format {
                FileFormat::Json(_) => "json",
                FileFormat::Toml => "toml",
                FileFormat::Yaml => "yaml",
            };
            let sample = samples.join(format!("{client}.{extension}"));
            let text = std::fs::read_to_string(sample).unwrap().replace('\n', "\r\n");
            let file = user_files(spec, &request.folders).swap_remove(0);
            home.put(file.to_str().unwrap(), &format!("\u{FEFF}{text}"));
        }
        let before = home.all();
        let plan = home.plan(&request);
        assert!(plan.unreadable.is_empty(), "{system:?}: {:?}", plan.unreadable);
        assert_eq!(plan.files.len(), Client::with_config().count(), "{system:?}");
        let applied = apply(&plan, request.now).unwrap();
        assert!(applied.failed.is_empty() && applied.overtaken.is_empty(), "{applied:?}");
        assert!(home.plan(&request).is_done(), "{system:?}");
        let undone = undo(&request.config, &request.folders, request.now, false).unwrap().unwrap();
        assert!(undone.left.is_empty() && undone.servers_only.is_empty(), "{undone:?}");
        assert_eq!(home.all(), before, "{system:?}");
    }
}

/// The Insiders build is not the stable one: each has its file, and each is written once.
#[test]
fn who_has_only_the_insiders_build_is_set_up_there() {
    let home = Home::new();
    let file = ".config/Code - Insiders/User/mcp.json";
    home.put(file, "{\"servers\": {\"a\": {\"command\": \"x\"}}}\n");
    let plan = home.setup();
    assert_eq!(plan.files.len(), 1);
    assert!(home.text(file).contains("--for") && !home.text(file).contains("\"x\""));
    home.undo();
    assert_eq!(home.text(file), "{\"servers\": {\"a\": {\"command\": \"x\"}}}\n");
}

#[test]
fn the_project_moves_when_it_is_named() {
    let home = filled();
    let before = home.all();
    let mut request = home.request();
    request.project = Some("work".into());
    request.folders.current_dir = home.0.clone();
    apply(&home.plan(&request), request.now).unwrap();
    let servers = home.config()["mcpServers"].clone();
    assert!(servers.get("team").is_some() && servers.get("local").is_some(), "{servers}");
    assert!(!home.text("work/.mcp.json").contains("team"));
    assert!(!home.text("work/.mcp.json").contains("--for"), "one entry is enough");
    assert!(!home.text(".claude.json").contains("\"local\""));
    home.undo();
    assert_eq!(home.all(), before);
}

#[test]
fn a_second_setup_takes_what_is_new_and_undo_goes_back_to_the_start() {
    let home = filled();
    home.setup();
    let zed = "{\"context_servers\": {\"z\": {\"command\": \"z\"}, \"time\": {\"command\": \"uvx\", \"args\": [\"time\"]}}}";
    home.put(".config/zed/settings.json", zed);
    let text = home
        .text(".cursor/mcp.json")
        .replace("\"mcpServers\": {", "\"mcpServers\": {\n    \"new\": {\"command\": \"n\"},");
    home.put(".cursor/mcp.json", &text);
    let plan = home.setup();
    let names: Vec<&str> = plan.new.iter().map(|it| it.server.name.as_str()).collect();
    assert_eq!(names, ["new", "z"]);
    assert_eq!(home.config()["mcpServers"].as_object().unwrap().len(), 7);
    home.undo();
    assert_eq!(home.text(".config/zed/settings.json"), zed);
    assert_eq!(home.text(".codex/config.toml"), CODEX);
    // It was changed between the two: the servers are back, and the one that was added stays.
    assert!(home.text(".cursor/mcp.json").contains("git-mcp"));
    assert!(home.text(".cursor/mcp.json").contains("\"new\""));
    assert!(!home.text(".cursor/mcp.json").contains("\"trunkline\""));
}

#[test]
fn what_has_changed_since_stays() {
    let home = filled();
    home.setup();
    let text = home.text(".claude.json").replace("\"numStartups\":3", "\"numStartups\":4");
    home.put(".claude.json", &text);
    let config = home.text(".config/trunkline/config.json");
    home.put(".config/trunkline/config.json", &config.replace("git-mcp", "git-mcp-2"));
    let undone = home.undo();
    assert_eq!(undone.servers_only, [home.0.join(".claude.json")]);
    assert!(undone.left.is_empty() && undone.json()["kept"].as_array().unwrap().len() == 1);
    let text = home.text(".claude.json");
    assert!(text.contains("\"numStartups\":4") && !text.contains("\"trunkline\""), "{text}");
    assert_eq!(home.text(".cursor/mcp.json"), CURSOR);
    assert!(home.text(".config/trunkline/config.json").contains("git-mcp-2"));
    let request = home.request();
    assert!(undo(&request.config, &request.folders, request.now, false).unwrap().is_none());
}

#[test]
fn what_cannot_be_edited_keeps_its_servers() {
    let home = filled();
    home.put(".cursor/mcp.json", "{ \"mcpServers\": { broken");
    home.put(".config/goose/config.yaml", "extensions: {a: {type: stdio, cmd: x, name: a}}\n");
    let plan = home.setup();
    assert_eq!(plan.unreadable.len(), 2, "{:?}", plan.unreadable);
    assert!(plan.new.iter().all(|it| it.server.name != "a"));
    assert_eq!(home.text(".cursor/mcp.json"), "{ \"mcpServers\": { broken");
}

/// What the `serve` has is not known here: in the config, its other servers would be lost to this client.
#[test]
fn a_client_of_a_serve_keeps_its_other_servers() {
    let home = filled();
    let text = "{\"mcpServers\": {\"trunkline\": {\"url\": \"http://127.0.0.1:3006/mcp/for/cursor\"}, \"own\": {\"command\": \"o\"}}}";
    home.put(".cursor/mcp.json", text);
    let plan = home.setup();
    assert!(plan.new.iter().all(|it| it.server.name != "own"), "{:?}", plan.new);
    assert!(plan.unreadable[0].1.contains("connects to a `serve`"), "{:?}", plan.unreadable);
    assert_eq!(home.text(".cursor/mcp.json"), text);
}

#[test]
fn a_client_of_a_serve_stays_with_it() {
    let home = Home::new();
    let text =
        "{\"mcpServers\": {\"trunkline\": {\"url\": \"http://127.0.0.1:3006/mcp/for/cursor\"}}}";
    home.put(".cursor/mcp.json", text);
    assert!(home.plan(&home.request()).files[0].text.is_none());
    let named = "{\"mcpServers\": {\"gw\": {\"command\": \"/old/trunkline\", \"args\": []}}}";
    home.put(".cursor/mcp.json", named);
    home.setup();
    let text = home.text(".cursor/mcp.json");
    assert!(text.contains("/opt/bin/trunkline") && !text.contains("\"trunkline\":"), "{text}");
}

#[test]
fn savings_are_counted_by_what_each_client_had() {
    let home = filled();
    let plan = home.plan(&home.request());
    let savings = estimated(&plan, ListedTools::All);
    assert!(!savings.measured);
    // Cursor's `git` is Codex's `git-tools`; `web` and `api` are no processes.
    assert_eq!(savings.processes, (4, 3));
    assert_eq!(savings.megabytes, (280, 210));
    let of =
        |client: Client| savings.contexts.iter().find(|it| it.client == client).unwrap().clone();
    assert_eq!((of(Client::Cursor).servers, of(Client::ClaudeCode).servers), ((2, 5), (0, 5)));
    assert_eq!(of(Client::Codex).tokens, (2000, 5000));
    assert_eq!(estimated(&plan, ListedTools::Search).contexts[0].tokens.1, 600);
    let own = estimated(&plan, ListedTools::Own);
    let of = |client: Client| own.contexts.iter().find(|it| it.client == client).unwrap().clone();
    assert_eq!((of(Client::Codex).servers, of(Client::Codex).tokens), ((2, 2), (2000, 2000)));
    assert_eq!(of(Client::ClaudeCode).tokens, (0, 5000));
    let path: &Path = &plan.config;
    assert!(!path.exists(), "a plan writes nothing");
}

#[test]
fn each_client_may_go_on_seeing_what_it_has() {
    let home = filled();
    home.put(".config/trunkline/config.json", "{\n  // mine\n  \"mcpServers\": {},\n  \"clients\": {\"cursor\": {\"preset\": \"x\"}}\n}\n");
    let before = home.all();
    let request = SetupRequest { separate: true, ..home.request() };
    apply(&home.plan(&request), request.now).unwrap();
    let text = home.text(".config/trunkline/config.json");
    assert!(text.contains("// mine"), "{text}");
    let config: Value = serde_json::from_str(&text.replace("// mine", "")).unwrap();
    assert_eq!(config["presets"]["codex"], serde_json::json!(["git", "time"]));
    assert_eq!(config["clients"]["codex"]["preset"], "codex");
    assert_eq!(config["clients"]["cursor"]["preset"], "x");
    // Without servers of its own it sees all.
    assert_eq!(config["presets"].get("claude-code"), None);
    home.undo();
    assert_eq!(home.all(), before);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let home = Home::new();
    home.put("dotfiles/cursor.json", CURSOR);
    std::fs::create_dir_all(home.0.join(".cursor")).unwrap();
    let link = home.0.join(".cursor/mcp.json");
    std::os::unix::fs::symlink(home.0.join("dotfiles/cursor.json"), &link).unwrap();
    home.setup();
    assert!(link.is_symlink() && home.text("dotfiles/cursor.json").contains("--for"));
    home.undo();
    assert!(link.is_symlink());
    assert_eq!(home.text("dotfiles/cursor.json"), CURSOR);
}
