//! Builds static programs for Linux of any processor: with Rust's own C library and linker, and with zig
//! as the compiler of the C in them (ring, `SQLite`), because it has musl's headers for all processors.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file;
use super::platform::Platform;
use crate::run;

/// From PyPI, in a folder of its own under `target`.
const ZIG: &str = "ziglang==0.17.0";

/// Builds the programs with this profile of cargo's, and says where they are.
pub(super) fn build(platform: Platform, profile: &str) -> Result<PathBuf, String> {
    let target = platform.target();
    let mut cargo = run::our_cargo();
    cargo.args(["build", "--locked", "--package", "trunkline", "--bins"]);
    cargo.args(["--profile", profile, "--target", target]);
    cargo.envs(environment(platform)?);
    run::checked(&mut cargo, &format!("cargo build --profile {profile} --target {target}"))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(file::target().join(target).join(folder))
}

/// What cargo has to know to build for this platform; installs what is missing, saying so.
pub(super) fn environment(platform: Platform) -> Result<Vec<(String, String)>, String> {
    let target = platform.target();
    add(target)?;
    let tools = zig()?;
    let compiler = tools.join(format!("{target}-cc"));
    file::write(&compiler, wrapper(&tools, platform, "cc"), file::PROGRAM)?;
    let archiver = tools.join(format!("{target}-ar"));
    file::write(&archiver, wrapper(&tools, platform, "ar"), file::PROGRAM)?;
    let name = target.replace('-', "_");
    let upper = name.to_uppercase();
    let text = |path: &Path| path.display().to_string();
    Ok(vec![
        (format!("CC_{name}"), text(&compiler)),
        (format!("AR_{name}"), text(&archiver)),
        (format!("CARGO_TARGET_{upper}_LINKER"), "rust-lld".to_owned()),
    ])
}

/// Has the compiler know the target.
pub(super) fn add(target: &str) -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]);
    run::checked(&mut rustup, &format!("rustup target add {target}"))
}

/// A call of zig as a compiler. Who calls it takes it for Clang, and names the target in words that it
/// does not know.
fn wrapper(tools: &Path, platform: Platform, tool: &str) -> String {
    let zig = tools.join("bin/python").display().to_string();
    let target = match tool {
        "cc" => format!("-target {}-linux-musl -fno-sanitize=undefined ", platform.processor()),
        _ => String::new(),
    };
    format!(
        "#!/bin/sh\nfor word; do\n  shift\n  case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
         exec '{zig}' -m ziglang {tool} {target}\"$@\"\n"
    )
}

/// Where zig is.
fn zig() -> Result<PathBuf, String> {
    let place = file::target().join("zig");
    let stamp = place.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == ZIG) {
        return std::path::absolute(&place).map_err(|error| error.to_string());
    }
    let mut python = Command::new("python3");
    run::checked(python.args(["-m", "venv"]).arg(&place), "python3 -m venv")?;
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile", ZIG]);
    run::checked(&mut pip, &format!("pip install {ZIG}"))?;
    file::write(&stamp, ZIG, file::DATA)?;
    std::path::absolute(&place).map_err(|error| error.to_string())
}
