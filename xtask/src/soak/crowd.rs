//! The long run of the crowd: 200 clients, stalled ones beside them, one service; in release, with
//! its figures.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::USAGE;
use crate::{conformance, run};

const TEST: &str =
    "crowd::nfr_s_two_hundred_clients_get_their_own_answers_and_stalled_ones_change_nothing";

/// `args`: for how many seconds, unless 60.
pub fn run(args: &[String]) -> Result<(), String> {
    let seconds = args.first().map_or("60", String::as_str);
    if seconds.parse::<u32>().is_err() {
        return Err(format!("{USAGE}, not `{seconds}`"));
    }
    run::cargo("build --release --locked -p trunkline --bins")?;
    let mut command = run::our_cargo();
    command.args(["test", "--release", "--locked", "-p", "trunkline-tests", "--test", "it"]);
    command.args(["--", "--exact", "--nocapture", TEST]);
    command.env("TRUNKLINE_BIN_DIR", conformance::target().join("release"));
    command.env("TRUNKLINE_CROWD_SECONDS", seconds).stdout(Stdio::piped());
    run::announce(&format!("soak, {seconds} s"));
    let mut child = command.spawn().map_err(|error| format!("cannot run the test: {error}"))?;
    let mut ran = false;
    let stdout = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines());
    for line in stdout.map_while(Result::ok) {
        // A test that is called otherwise now would not be missed.
        ran |= line.contains("1 passed");
        println!("{line}");
    }
    let status = child.wait().map_err(|error| format!("cannot wait for the test: {error}"))?;
    match (status.success(), ran) {
        (true, true) => Ok(()),
        (true, false) => Err(format!("there is no test `{TEST}`")),
        (false, _) => Err(format!("the crowd was not served ({status})")),
    }
}
