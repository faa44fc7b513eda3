//! What happens to the files: backups, links, permissions, line ends, other writers.

use std::fs;

use serde_json::json;
use trunkline_catalog::client::Client;

use super::kit::{Home, parsed, run};
use crate::install::apply::{CurrentFile, WriteOutcome};

const CURSOR: &str = ".cursor/mcp.json";

#[test]
fn backups_are_dated_and_never_written_over() {
    let home = Home::new();
    home.write(CURSOR, "{}");
    fs::rename(home.path.join(CURSOR), home.path.join(".cursor/settings.json")).unwrap();
    for name in ["a", "b", "c"] {
        let mut request = home.request(Client::Cursor);
        request.target.file = Some(".cursor/settings.json".into());
        request.target.name = Some(name.to_owned());
        run(&request).unwrap();
    }
    let base = "settings.json.trunkline-backup-20261115-100000";
    let expected =
        ["settings.json".to_owned(), base.to_owned(), format!("{base}-2"), format!("{base}-3")];
    assert_eq!(home.beside(CURSOR), expected);
    assert_eq!(home.read(&format!(".cursor/{base}")), "{}");
}

#[test]
fn windows_line_ends_stay() {
    for (client, file, text) in [
        (Client::Cursor, CURSOR, "{\r\n  \"a\": 1\r\n}\r\n"),
        (Client::Codex, ".codex/config.toml", "# mine\r\na = 1\r\n\r\n[b]\r\nc = 2\r\n"),
    ] {
        let home = Home::new();
        let path = home.write(file, text);
        home.install(client).unwrap();
        let after = home.read(file);
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
        parsed(&path);
    }
}

#[test]
fn a_byte_order_mark_stays() {
    let home = Home::new();
    let file = home.write(CURSOR, "\u{FEFF}{\n  \"a\": 1\n}");
    home.install(Client::Cursor).unwrap();
    assert!(home.read(CURSOR).starts_with("\u{FEFF}{\n  \"a\": 1,\n  \"mcpServers\""));
    assert_eq!(parsed(&file)["a"], json!(1));
}

#[test]
fn what_the_client_wrote_in_between_is_not_lost() {
    for (before, meanwhile) in
        [(Some("{}"), Some("{\"a\": 1}")), (Some("{}"), None), (None, Some("{}"))]
    {
        let home = Home::new();
        let file = home.write(".cursor/settings.json", before.unwrap_or_default());
        let put = |text: Option<&str>| match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        };
        put(before);
        let found = CurrentFile::read(&file).unwrap();
        put(meanwhile);
        assert_eq!(found.write("{\"new\": 1}", "now").unwrap(), WriteOutcome::Overtaken);
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), meanwhile);
        let left = home.beside(CURSOR);
        assert_eq!(
            left.len(),
            usize::from(meanwhile.is_some()),
            "neither backup nor draft: {left:?}"
        );
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::install::error::InstallError;

    #[test]
    fn a_link_stays_a_link_and_its_target_is_written() {
        let home = Home::new();
        let target = home.write("dotfiles/cursor.json", "{}");
        fs::create_dir_all(home.path.join(".cursor")).unwrap();
        let link = home.path.join(CURSOR);
        symlink(&target, &link).unwrap();
        let report = home.install(Client::Cursor).unwrap();
        assert!(link.is_symlink());
        assert!(parsed(&target)["mcpServers"]["trunkline"].is_object());
        assert_eq!(report.backup.unwrap().parent(), link.parent());
    }

    #[test]
    fn a_link_to_nothing_is_refused() {
        let home = Home::new();
        fs::create_dir_all(home.path.join(".cursor")).unwrap();
        symlink(home.path.join("gone"), home.path.join(CURSOR)).unwrap();
        let error = home.install(Client::Cursor).unwrap_err();
        assert!(error.to_string().starts_with("cannot read /"), "{error}");
        assert!(home.path.join(CURSOR).is_symlink());
    }

    #[test]
    fn permissions_are_kept_and_the_backup_has_them_too() {
        for mode in [0o600, 0o640, 0o444] {
            let home = Home::new();
            let file = home.write(CURSOR, "{}");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let backup = home.install(Client::Cursor).unwrap().backup.unwrap();
            for path in [file, backup] {
                assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
            }
        }
    }

    #[test]
    fn a_path_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let home = Home::new();
        let mut request = home.request(Client::Cursor);
        request.executable = std::ffi::OsString::from_vec(b"/bin/\xff".to_vec()).into();
        assert!(matches!(run(&request).unwrap_err(), InstallError::PathNotText { .. }));
    }
}
