//! What is started for a contender: its label, its command lines and its configuration file.

use super::peers::{CONFIG, ENVIRONMENT};
use super::target::{Kind, Place, Shape};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn label(place: &Place, kind: &Kind) -> String {
    match kind {
        Kind::Direct => "direct".to_owned(),
        Kind::Floor => "floor".to_owned(),
        Kind::Subject => {
            place.subject.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
        Kind::Peer(peer) => peer.name.clone(),
    }
}

pub(super) fn commands(place: &Place, kind: &Kind, shape: Shape) -> Result<Vec<Command>, String> {
    let with_config = |program: &Path| -> Result<Command, String> {
        let mut command = Command::new(program);
        command.arg("--config").arg(config(place, shape)?);
        Ok(command)
    };
    Ok(match kind {
        Kind::Direct => {
            (0..shape.servers).map(|server| direct(place, server, shape.tools)).collect()
        }
        Kind::Floor => vec![with_config(&place.floor)?],
        Kind::Subject => vec![with_config(&place.subject)?],
        Kind::Peer(peer) => {
            let config = config(place, shape)?.to_string_lossy().into_owned();
            let mut command = Command::new(&peer.program);
            command.args(
                peer.args.iter().map(|&arg| if arg == CONFIG { config.as_str() } else { arg }),
            );
            command.envs(ENVIRONMENT.iter().copied());
            vec![command]
        }
    })
}

fn direct(place: &Place, server: usize, tools: usize) -> Command {
    let mut command = Command::new(&place.child);
    command.args(child_args(server, tools));
    command
}

fn child_args(server: usize, tools: usize) -> [String; 4] {
    ["--name".to_owned(), format!("s{server}"), "--tools".to_owned(), tools.to_string()]
}

/// Writes the `mcpServers` file of a shape.
fn config(place: &Place, shape: Shape) -> Result<PathBuf, String> {
    let servers: serde_json::Map<_, _> = (0..shape.servers)
        .map(|server| {
            (
                format!("s{server}"),
                json!({"command": place.child, "args": child_args(server, shape.tools)}),
            )
        })
        .collect();
    let path = place.directory.join(format!("{}x{}.json", shape.servers, shape.tools));
    let text = json!({ "mcpServers": servers }).to_string();
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
