//! The command line.

use std::path::PathBuf;

pub(super) const USAGE: &str = "\
usage: bench [--quick] [--only SCENARIO]… [--subject COMMAND] [--before COMMAND] [--peers DIR] [--policies FILE]
             [--markdown FILE] [--strict]
  scenarios: seq par64 big list start50 mem scale http-seq http-par64 http-sessions http-big (http: these four)
             modern-seq modern-par64 (modern: these two)
             cores (one thread that moves messages against several: throughput, CPU, evenness, futex calls)
             cores-stalls cores-idle (small calls beside a catalog that changes, large answers, a client with thousands
             of calls; memory of idle streams; cores: all three)
             guards (pins, scanner, limits, sandbox and policies on against off: a call, and the start of servers)
             platform-seq platform-register platform-scale platform-search (platform: these four)
  --subject   the program under test, with arguments if it needs some (default: trunkline beside this program)
  --before    another build of it, or the same with other arguments: measured in the same rounds, as ratios
  --peers     a directory with a Python environment in venv/ (`cargo xtask bench --peers` makes one)
  --policies  other policies for `guards` than the hundred that the benchmark has
  --strict    exit with 1 if a target is missed";

#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) quick: bool,
    pub(super) strict: bool,
    pub(super) only: Vec<String>,
    pub(super) subject: Option<String>,
    pub(super) before: Option<String>,
    pub(super) peers: Option<PathBuf>,
    pub(super) policies: Option<PathBuf>,
    pub(super) markdown: Option<PathBuf>,
    /// The command line for the report; without the directory of the peers, which xtask chooses itself.
    pub(super) shown: String,
}

pub(super) fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options { shown: "cargo xtask bench".to_owned(), ..Options::default() };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value =
            || rest.next().cloned().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        let mut shown = String::new();
        match arg.as_str() {
            "--quick" => options.quick = true,
            "--strict" => options.strict = true,
            "--only" => {
                shown = value()?;
                options.only.extend(shown.split(',').map(str::to_owned));
            }
            "--subject" => {
                shown = value()?;
                options.subject = Some(shown.clone());
            }
            "--before" => {
                shown = value()?;
                options.before = Some(shown.clone());
            }
            "--markdown" => {
                shown = value()?;
                options.markdown = Some(PathBuf::from(&shown));
            }
            "--policies" => {
                shown = value()?;
                options.policies = Some(PathBuf::from(&shown));
            }
            "--peers" => options.peers = Some(PathBuf::from(value()?)),
            _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
        }
        options.shown.push(' ');
        options.shown.push_str(format!("{arg} {shown}").trim_end());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shown_command_hides_the_directory_of_the_peers() {
        let args = ["--quick", "--only", "seq,mem", "--peers", "/somewhere"].map(str::to_owned);
        let options = parse(&args).expect("valid");
        assert_eq!(options.shown, "cargo xtask bench --quick --only seq,mem --peers");
        assert_eq!(options.only, ["seq", "mem"]);
    }
}
