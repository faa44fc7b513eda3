//! The systemd unit: valid, and with walls around it.

use std::path::Path;
use std::process::Command;

use super::has;
use crate::dist::programs::output;
use crate::dist::{Dist, file};

/// `systemd-analyze security` rates from 0 (walled in) to 10; what is left is the network, which it is for.
const WORST: &str = "25";

pub(super) fn check(dist: &Dist, place: &Path) -> Result<String, String> {
    if !has("systemd-analyze") {
        return Ok("not checked: systemd-analyze is not on this machine".to_owned());
    }
    let unit = file::text(&file::root().join("packaging/trunkline.service"))?;
    // The program need not be installed where the unit is verified.
    let program = dist.here()?.path("trunkline").display().to_string();
    let here = place.join("trunkline.service");
    file::write(&here, unit.replace("/usr/bin/trunkline", &program), file::DATA)?;
    output(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&here))?;
    let mut command = Command::new("systemd-analyze");
    command.args(["security", "--offline=true", "--no-pager", "--threshold", WORST]).arg(&here);
    let said = output(&mut command)?;
    let rated = said.lines().last().unwrap_or_default().trim();
    Ok(rated.trim_start_matches("→ ").to_owned())
}
