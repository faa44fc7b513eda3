//! Long runs by hand, in release unless they are told otherwise, each with its figures.

mod crowd;
mod platform;
mod replicas;
mod slow_readers;

const USAGE: &str = "usage: cargo xtask soak [SECONDS], or soak platform [load|restarts|kills]... [--scale PERCENT] [--rate CALLS], or soak replicas [--scale PERCENT] [--rate CALLS] [--debug], or soak slow-readers [--scale PERCENT]";

/// `args`: which run, and what it takes.
pub fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((first, rest)) if first == "platform" => platform::run(rest),
        Some((first, rest)) if first == "replicas" => replicas::run(rest),
        Some((first, rest)) if first == "slow-readers" => slow_readers::run(rest),
        _ => crowd::run(args),
    }
}
