//! What a platform is run beside: Debian's promtool, which reads its alerts, and pgbouncer.

use std::path::Path;

use crate::packages;

const PACKAGES: [&str; 2] = ["prometheus", "pgbouncer"];

/// Installs them if they are missing.
pub fn install() -> Result<(), String> {
    let why = "the tests of what operators run need promtool and a pooler (prometheus, pgbouncer)";
    packages::ensure(why, &PACKAGES, || {
        let is_there = |name: &&str| {
            let place = Path::new("/usr/sbin").join(name);
            packages::on_path(name).is_some() || place.exists()
        };
        ["promtool", "pgbouncer"].iter().all(is_there).then_some(())
    })
}
