//! Every command of this repository; `cargo xtask` alone lists them.

mod balancers;
mod bench;
mod browser;
mod code;
mod conformance;
mod coverage;
mod dependencies;
mod dist;
mod first_call;
mod first_hour;
mod fuzz;
mod house;
mod inner_rooms;
mod laws;
mod leftovers;
mod map;
mod operations;
mod packages;
mod peers;
mod postgres;
mod proxies;
mod races;
mod rooms;
mod run;
mod scan_quality;
mod screenshots;
mod search;
mod soak;
mod source;
mod test;
mod tidy;
mod walls_trial;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  ci           everything a change must pass: tidy, format, lints, all tests
  test         all tests (installs the MCP peers they talk to under target/peers and a browser,
               and starts a throw-away Postgres); test NAME...: only those whose name contains
               NAME. A failure does not stop the rest; the end is a list of what failed
  conformance  only the official conformance suite (conformance [RUN]..., e.g. modern-stdio)
  tidy         the laws the compiler does not know: door plates, who may import whom, cycles, sizes
               of types, words (tidy --bless: shrink the list of exceptions)
  dist         the packages that are shipped, in release (dist --help); dist musl: only static programs
  first-call   from `git clone` to the first tool call through Claude Code, as a newcomer: what is
               typed, and how long it takes (first-call --help)
  first-hour   the first hour of a new user with Claude Code, Codex and ten real servers, in release:
               every tool in the first request, both clients at one runtime, and `setup` timed; starts with
               twenty slow servers in milliseconds (first-hour --help)
  fuzz         every parser that is written by hand, under libFuzzer, a minute each (fuzz --help)
  house        what the architecture measures, beside its goals: cycles, methods, names, files on the
               way of a call (house --help)
  map          the tree with each file's first line
  peers        only install the MCP servers and clients the tests talk to
  postgres     run a command with a throw-away Postgres (postgres COMMAND..., e.g. cargo test)
  browser      only install the browser that the tests of the dashboard drive
  screenshots  take the pictures of the dashboard anew: docs/images (screenshots [SCREEN]...)
  bench        measure against the direct call, the floor and peers (bench --help)
  eval-search  measure the search: quality beside BM25F and a MiniLM hybrid, skills, time
               (eval-search --data DIR...; installs the teacher's weights under target/search)
  scan-quality  measure the scanner of texts: what it finds, what it wrongly holds against honest ones
               (scan-quality [--data DIR]...)
  soak         200 clients on one `trunkline serve` for a minute, in release (soak [SECONDS])
  soak slow-readers  memory with readers of several speeds, every front and server, in release
  soak replicas  three replicas behind haproxy, killed, restarted and cut off from their store, in release (or --debug)
  soak platform  the platform at full size, in release (soak platform [load|restarts|kills]...)
  walls-trial  35 popular servers of npm and PyPI with and without the walls of `standard`, one after the
               other, and a table of what differs (walls-trial [PACKAGE]...)
  races        black-box tests against programs built with ThreadSanitizer: no two threads touch the same memory
               without an order between them (races [NAME]...)
  coverage     how many lines the tests run through, by crate (coverage [--all])";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = arguments.split_first().map_or(("", &[][..]), |(t, r)| (t.as_str(), r));
    let outcome = match task {
        "ci" => test::ci(),
        "test" => test::run(rest),
        test::JUDGE => test::judge(),
        "conformance" => conformance::run(rest),
        "tidy" => tidy::run(rest),
        "dist" => dist::run(rest),
        "first-call" => first_call::run(rest),
        "first-hour" => first_hour::run(rest),
        "fuzz" => fuzz::run(rest),
        "house" => house::run(rest),
        "map" => map::run(),
        "peers" => peers::install(),
        "postgres" => postgres::run(rest),
        "browser" => browser::install(),
        "screenshots" => screenshots::run(rest),
        "bench" => bench::run(rest),
        "eval-search" => search::eval(rest),
        "scan-quality" => scan_quality::run(rest),
        "search" => search::run(rest),
        "soak" => soak::run(rest),
        "coverage" => coverage::run(rest),
        "races" => races::run(rest),
        "walls-trial" => walls_trial::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // An empty one has been told already.
            if !message.is_empty() {
                eprintln!("{message}");
            }
            ExitCode::FAILURE
        }
    }
}
