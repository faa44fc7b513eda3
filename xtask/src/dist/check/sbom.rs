//! The bill of materials and the checksums, read by programs that others wrote.

use std::path::Path;
use std::process::Command;

use super::super::{Dist, file, sbom};
use super::{has, holds, made};

/// Packages that are surely in the program.
const KNOWN: [&str; 4] =
    ["pkg:cargo/tokio@", "pkg:cargo/rustls@", "pkg:cargo/trunkline-wire@", "SHA-256"];

pub(super) fn check(dist: &Dist, _place: &Path) -> Result<String, String> {
    let path = made(dist, &format!("trunkline-{}.cdx.json", dist.version))?;
    let text = file::text(&path)?;
    holds(&text, &KNOWN)?;
    let mut read = "the document was not parsed: there is no python3";
    if has("python3") {
        let parsed = Command::new("python3").args(["-m", "json.tool"]).arg(&path).output();
        if !parsed.is_ok_and(|output| output.status.success()) {
            return Err("the bill of materials is not JSON".to_owned());
        }
        read = "the document is JSON";
    }
    let sums = Command::new("sha256sum")
        .args(["--check", "--strict", sbom::SUMS])
        .current_dir(&dist.out)
        .output();
    let sums = sums.map_err(|error| format!("cannot run sha256sum: {error}"))?;
    if !sums.status.success() {
        return Err(format!("sha256sum: {}", String::from_utf8_lossy(&sums.stderr)));
    }
    let files = String::from_utf8_lossy(&sums.stdout).lines().count();
    let components = text.matches("\"type\": \"library\"").count();
    Ok(format!("{components} packages, {files} checksums right; {read}"))
}
