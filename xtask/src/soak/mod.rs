//! Long runs in release, by hand, each with its figures.

mod crowd;
mod platform;

const USAGE: &str = "usage: cargo xtask soak [SECONDS], or soak platform [load|restarts|kills]... [--scale PERCENT] [--rate CALLS]";

/// `args`: which run, and what it takes.
pub fn run(args: &[String]) -> Result<(), String> {
    match args.split_first() {
        Some((first, rest)) if first == "platform" => platform::run(rest),
        _ => crowd::run(args),
    }
}
