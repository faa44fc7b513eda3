//! The browser that the tests of the dashboard drive: Debian's Chromium, as a headless shell, and its driver.

use crate::packages;

const PACKAGES: [&str; 4] =
    ["chromium-headless-shell", "chromium-driver", "fonts-dejavu-core", "util-linux"];

/// Installs it if it is missing.
pub fn install() -> Result<(), String> {
    let why = "the tests of the dashboard need a browser (chromium-headless-shell, chromedriver, setpriv)";
    packages::ensure(why, &PACKAGES, || {
        let programs = ["chromium-headless-shell", "chromedriver", "setpriv"];
        programs.iter().all(|name| packages::on_path(name).is_some()).then_some(())
    })
}
