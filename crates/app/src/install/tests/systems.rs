//! Each client's file on each system, whichever this test runs on: our entry comes, and goes without a trace.

use std::path::Path;

use serde_json::Value;
use trunkline_catalog::client::{Client, FileFormat, System};

use super::kit::{Home, parsed, run};
use crate::install::report::InstallOutcome;
use crate::install::uninstall::Removed;
use crate::install::{InstallRequest, UserFolders, locate, uninstall};

/// As clients on Windows write paths, and from the root on the system this test runs on: every backslash has to
/// arrive in a file, and to come back.
const PROGRAM: &str = r"/C:\Program Files\Trunkline\new\trunkline.exe";

/// What the same text looks like under several editors.
const EDITORS: [fn(&str) -> String; 3] = [
    str::to_owned,
    |text| text.replace('\n', "\r\n"),
    |text| format!("\u{FEFF}{}", text.replace('\n', "\r\n")),
];

fn request(home: &Home, client: Client, system: System) -> InstallRequest {
    let mut request = home.request(client);
    request.folders = UserFolders::in_home(system, &home.path);
    request.executable = PROGRAM.into();
    request
}

fn sample(client: Client, format: FileFormat) -> String {
    let extension = match format {
        FileFormat::Json(_) => "json",
        FileFormat::Toml => "toml",
        FileFormat::Yaml => "yaml",
    };
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/clients");
    std::fs::read_to_string(samples.join(format!("{client}.{extension}"))).unwrap()
}

/// The program in the entry, read by a reader that shares nothing with the writer where there is one.
fn program(file: &Path, format: FileFormat, key: &str) -> Value {
    if format == FileFormat::Yaml {
        let text = std::fs::read_to_string(file).unwrap();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("cmd: \"/C:"));
        let quoted = format!("\"/C:{}", line.unwrap());
        return serde_json::from_str(&quoted).unwrap();
    }
    let command = parsed(file)[key]["trunkline"]["command"].clone();
    command.get(0).cloned().unwrap_or(command)
}

#[test]
fn on_every_system_our_entry_comes_and_goes_and_every_byte_stays() {
    for system in System::ALL {
        for (client, spec) in Client::with_config() {
            for edited in EDITORS {
                let home = Home::new();
                let request = request(&home, client, system);
                let file = locate(&request.target, &request.folders).unwrap().file;
                let before = edited(&sample(client, spec.format));
                home.write(file.to_str().unwrap(), &before);
                let name = format!("{client} {system:?} {:?}", before.get(..12));

                assert_eq!(run(&request).unwrap().outcome, InstallOutcome::Added, "{name}");
                assert_eq!(program(&file, spec.format, spec.key), PROGRAM, "{name}");
                let after = std::fs::read_to_string(&file).unwrap();
                assert_eq!(after.starts_with('\u{FEFF}'), before.starts_with('\u{FEFF}'), "{name}");
                let (ends, windows) = (after.matches('\n').count(), after.matches("\r\n").count());
                assert!(
                    windows == if before.contains("\r\n") { ends } else { 0 },
                    "{name}\n{after:?}"
                );
                assert_eq!(run(&request).unwrap().outcome, InstallOutcome::Unchanged, "{name}");

                let (target, folders) = (&request.target, &request.folders);
                let gone = uninstall(target, folders, request.now, &|_, _, _| Vec::new()).unwrap();
                assert_eq!(gone.outcome, Removed::Undone, "{name}");
                assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{name}");
            }
        }
    }
}

/// Without the backup the entry has to be cut out of a file that was changed since.
#[test]
fn without_a_backup_what_the_file_had_is_to_the_byte_what_it_was() {
    for (client, spec) in Client::with_config() {
        for edited in EDITORS {
            let home = Home::new();
            let request = request(&home, client, System::Windows);
            let file = locate(&request.target, &request.folders).unwrap().file;
            let before = edited(&sample(client, spec.format));
            home.write(file.to_str().unwrap(), &before);
            let backup = run(&request).unwrap().backup.unwrap();
            std::fs::remove_file(backup).unwrap();
            let (target, folders) = (&request.target, &request.folders);
            let gone = uninstall(target, folders, request.now, &|_, _, _| Vec::new()).unwrap();
            assert_eq!(gone.outcome, Removed::Entry, "{client}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "{client}");
        }
    }
}

#[test]
fn a_client_without_a_file_gets_one_where_it_looks_on_its_system() {
    for system in System::ALL {
        for (client, spec) in Client::with_config() {
            let home = Home::new();
            let request = request(&home, client, system);
            let report = run(&request).unwrap();
            assert_eq!(report.outcome, InstallOutcome::Created, "{client} {system:?}");
            assert_eq!(program(&report.file, spec.format, spec.key), PROGRAM, "{client}");
        }
    }
}
