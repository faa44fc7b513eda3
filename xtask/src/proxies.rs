//! The proxies that the tests go through: Debian's tinyproxy (HTTP) and microsocks (SOCKS5).

use crate::packages;

const PACKAGES: [&str; 2] = ["tinyproxy-bin", "microsocks"];

/// Installs them if they are missing. Not the package `tinyproxy`: that would also start one.
pub fn install() -> Result<(), String> {
    let why = "the tests of proxies need real ones (tinyproxy, microsocks)";
    packages::ensure(why, &PACKAGES, || {
        let programs = ["tinyproxy", "microsocks"];
        programs.iter().all(|name| packages::on_path(name).is_some()).then_some(())
    })
}
