//! The programs that are packed: built or found, and what they need of a machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::file;
use crate::run;

pub(super) const NAMES: [&str; 2] = ["trunkline", "mcp-simple-aggregator"];

pub(super) struct Programs {
    folder: PathBuf,
    pub(super) version: String,
}

impl Programs {
    pub(super) fn build() -> Result<Self, String> {
        run::cargo("build --release --locked --package trunkline --bins")?;
        Self::find(&file::target().join("release"))
    }

    /// Programs that are there; all of one version.
    pub(super) fn find(folder: &Path) -> Result<Self, String> {
        let folder = folder.canonicalize();
        let folder = folder.map_err(|error| format!("no folder with programs: {error}"))?;
        let mut versions = NAMES.iter().map(|name| {
            let said = output(Command::new(folder.join(name)).arg("--version"))?;
            let version = said.trim().strip_prefix(name).map(|rest| rest.trim().to_owned());
            version.ok_or_else(|| format!("{name} --version says {said:?}"))
        });
        let version = versions.next().unwrap_or_else(|| Err("no programs".to_owned()))?;
        for other in versions {
            let other = other?;
            if other != version {
                return Err(format!("the programs are of {version} and of {other}"));
            }
        }
        Ok(Self { folder, version })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Puts them into a folder.
    pub(super) fn copy_to(&self, folder: &Path) -> Result<(), String> {
        for name in NAMES {
            let to = folder.join(name);
            file::copy(&self.path(name), &to, file::PROGRAM)?;
            strip(&to);
        }
        Ok(())
    }

    /// What `trunkline` says to these arguments, if it knows them.
    pub(super) fn asked(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        let output = Command::new(self.path("trunkline")).args(arguments).output().ok()?;
        output.status.success().then_some(output.stdout)
    }

    pub(super) fn platform(&self) -> String {
        format!("linux-{}", std::env::consts::ARCH)
    }

    /// As npm and Node call the processor.
    pub(super) fn node_arch(&self) -> &'static str {
        match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// As Debian calls it.
    pub(super) fn debian_arch(&self) -> &'static str {
        match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// The newest glibc that one of them asks for (`2.34`); `None`: they need none.
    pub(super) fn glibc(&self) -> Result<Option<String>, String> {
        let mut newest = None;
        for name in NAMES {
            newest = newest.max(newest_glibc(&file::read(&self.path(name))?));
        }
        Ok(newest.map(|(major, minor)| format!("{major}.{minor}")))
    }

    /// What they are linked with.
    pub(super) fn links(&self) -> String {
        match output(Command::new("ldd").arg(self.path("trunkline"))) {
            Ok(said) => format!("trunkline needs of the machine:\n{}", said.trim_end()),
            Err(_) => "trunkline needs no library of the machine".to_owned(),
        }
    }
}

/// Symbols are for who builds it. Without the tool the package is larger, that is all.
fn strip(program: &Path) {
    drop(Command::new("strip").arg(program).output());
}

/// The versions of symbols stand in the file as `GLIBC_2.34`.
fn newest_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const MARK: &[u8] = b"GLIBC_";
    let starts = program.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
    let versions = starts.filter_map(|(at, _)| {
        let rest = program.get(at + MARK.len()..)?;
        let text = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        let text: String = text.map(|byte| char::from(*byte)).collect();
        let (major, minor) = text.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    versions.max()
}

/// The standard output of a command that succeeds.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown} failed ({})\n{said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_found_by_number() {
        let program = b"..GLIBC_2.9\0GLIBC_2.34\0xGLIBC_2.3.4\0GLIBC_PRIVATE\0";
        assert_eq!(newest_glibc(program), Some((2, 34)));
        assert_eq!(newest_glibc(b"nothing"), None);
    }
}
