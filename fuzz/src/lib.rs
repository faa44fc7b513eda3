//! Fuzz targets: one function for every parser that is written by hand. Each compares the parser with a
//! second reading (another library, a plain model, or itself on other cuts) and panics where they differ.

mod corpus;
mod input;
mod targets;

pub use corpus::{mutated, seeds};

/// A parser and what must hold for any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// In the order of ARCHITECTURE.md's crates.
pub const TARGETS: &[Target] = &[
    Target { name: "json", run: targets::json::value },
    Target { name: "message", run: targets::json::message },
    Target { name: "lines", run: targets::lines::run },
    Target { name: "http_head", run: targets::http_head::run },
    Target { name: "http_body", run: targets::http_body::run },
    Target { name: "sse", run: targets::sse::run },
    Target { name: "proxy_protocol", run: targets::proxy_protocol::run },
    Target { name: "url", run: targets::url::run },
    Target { name: "percent", run: targets::percent::run },
    Target { name: "jsonc", run: targets::jsonc::run },
    Target { name: "uri_template", run: targets::uri_template::run },
    Target { name: "config", run: targets::config::run },
    Target { name: "listing", run: targets::listing::run },
    Target { name: "jwt", run: targets::jwt::run },
    Target { name: "jwks", run: targets::jwt::keys },
    Target { name: "policy_uri", run: targets::policy_uri::run },
    Target { name: "protobuf", run: targets::protobuf::run },
    Target { name: "otlp_answer", run: targets::protobuf::answer },
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many inputs are made of each seed, beside the seed itself.
    const MUTATIONS: u64 = 40;

    #[test]
    fn every_fuzz_target_has_seeds_and_stands_them() {
        for target in TARGETS {
            let seeds = seeds(target.name);
            assert!(seeds.len() >= 3, "{}: {} seeds are no corpus", target.name, seeds.len());
            for (path, seed) in &seeds {
                println!("{} {}", target.name, path.display());
                (target.run)(seed);
            }
        }
    }

    #[test]
    fn every_fuzz_target_stands_what_is_made_of_its_seeds() {
        for target in TARGETS {
            let seeds: Vec<_> = seeds(target.name).into_iter().map(|(_, seed)| seed).collect();
            for (place, seed) in seeds.iter().enumerate() {
                let other = seeds.get((place + 1) % seeds.len()).map_or(&[][..], Vec::as_slice);
                for number in 0..MUTATIONS {
                    (target.run)(&mutated(seed, other, number));
                }
            }
        }
    }

    #[test]
    fn the_same_number_makes_the_same_input() {
        let made = |number| mutated(b"{\"a\":1}", b"[2]", number);
        assert_eq!(made(7), made(7));
        assert!((0..20).any(|number| made(number) != made(number + 1)));
    }
}
