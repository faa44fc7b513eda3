//! The bundle: its manifest by the rules of those who read it, and its command as they would run it.

use std::path::Path;
use std::process::Command;

use super::{holds, made, session};
use crate::dist::programs::output;
use crate::dist::{Dist, file, mcpb};
use crate::peers;

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    let bundle = made(dist, &mcpb::name(dist.here()?))?;
    let folder = place.join("unpacked");
    output(Command::new("unzip").args(["-q", "-d"]).arg(&folder).arg(&bundle))?;
    let manifest = file::text(&folder.join("manifest.json"))?;
    let judged = judge(&folder)?;
    let config = place.join("mcp.json");
    file::write(&config, session::config(&folder.join("server/trunkline")), file::DATA)?;
    let filled = |text: &str| {
        let text = text.replace("${__dirname}", &folder.display().to_string());
        text.replace("${user_config.config}", &config.display().to_string())
    };
    let command = text_after(&manifest, "\"command\":").ok_or("the manifest has no command")?;
    let arguments = manifest.split("\"args\":").nth(1).and_then(|rest| rest.split(']').next());
    let arguments = arguments.ok_or("the manifest has no args")?.split('"').skip(1).step_by(2);
    let mut command = Command::new(filled(command));
    let said = session::tools(command.args(arguments.map(filled)))?;
    holds(&said, &["\"clock__now\""])?;
    Ok(format!("unpacked, its command spoken to; {judged}"))
}

/// By the tool that its publishers have for it, where that is installed.
fn judge(folder: &Path) -> Result<&'static str, String> {
    let tool = peers::place().join("node_modules/.bin/mcpb");
    if !tool.exists() {
        return Ok("the manifest was not validated: run `cargo xtask peers` before");
    }
    output(Command::new(tool).arg("validate").arg(folder.join("manifest.json")))?;
    Ok("the manifest is valid")
}

/// The text in quotes that follows.
fn text_after<'m>(manifest: &'m str, key: &str) -> Option<&'m str> {
    manifest.split(key).nth(1)?.split('"').nth(1)
}
