//! Pictures of every screen of the dashboard, in light, dark and on a phone: `docs/images`.

use std::process::Command;

use crate::{browser, conformance, leftovers, run};

const PLACE: &str = "docs/images";
/// All together, in bytes: they are part of the repository.
const HEAVIEST: u64 = 3_000_000;

/// `args`: only the screens whose names hold one of these; all without any.
pub fn run(args: &[String]) -> Result<(), String> {
    browser::install()?;
    run::cargo("build --locked -p trunkline -p trunkline-tests --bins")?;
    let programs = conformance::target().join("debug");
    run::announce(&format!("screenshots {PLACE}"));
    let mut camera = Command::new(programs.join("screenshots"));
    camera.arg(PLACE).args(args).env("TRUNKLINE_BIN_DIR", &programs);
    let before = leftovers::before();
    let output = camera.output().map_err(|error| format!("cannot take pictures: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        return Err(format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    leftovers::check(&before)?;
    let taken = String::from_utf8_lossy(&output.stdout);
    let mut small = Command::new("python3");
    small.arg("tests/screenshots/small.py").args(taken.lines());
    run::checked(&mut small, "small.py (fewer colours, fewer bytes)")?;
    weigh()
}

fn weigh() -> Result<(), String> {
    let files = std::fs::read_dir(PLACE).map_err(|error| format!("{PLACE}: {error}"))?;
    let pictures = files.flatten().filter(|it| it.path().extension().is_some_and(|it| it == "png"));
    let total: u64 = pictures.filter_map(|it| it.metadata().ok()).map(|it| it.len()).sum();
    run::announce(&format!("{total} bytes in {PLACE}"));
    match total < HEAVIEST {
        true => Ok(()),
        false => Err(format!("too much: {HEAVIEST} bytes at most")),
    }
}
