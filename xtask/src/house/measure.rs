//! The measures: what each counts, and its goal.

use std::collections::BTreeMap;
use std::path::Path;

use super::calls::Ways;
use crate::code::{self, Edges, Product, Type};

/// One line of the table.
pub(super) struct Row {
    pub(super) what: &'static str,
    pub(super) goal: &'static str,
    pub(super) value: fn(&Figures) -> String,
}

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "largest cycle between rooms of `control`",
        goal: "0",
        value: |it| it.room_cycle("control").to_string(),
    },
    Row {
        what: "largest cycle between rooms of any crate",
        goal: "0",
        value: |it| {
            let crates = it.crates();
            crates.iter().map(|name| it.room_cycle(name)).max().unwrap_or(0).to_string()
        },
    },
    Row {
        what: "largest cycle between siblings (files and folders) of `upstream`",
        goal: "≤ 4",
        value: |it| it.sibling_cycle("crates/gateway/src/upstream/").to_string(),
    },
    Row {
        what: "… between all its files, whatever their folders",
        goal: "–",
        value: |it| it.file_cycle("crates/gateway/src/upstream/").to_string(),
    },
    Row {
        what: "largest cycle between siblings of `front/http`",
        goal: "≤ 4",
        value: |it| it.sibling_cycle("crates/gateway/src/front/http/").to_string(),
    },
    Row {
        what: "… between all its files, whatever their folders",
        goal: "–",
        value: |it| it.file_cycle("crates/gateway/src/front/http/").to_string(),
    },
    Row {
        what: "largest cycle between siblings inside any room",
        goal: "≤ 4",
        value: |it| it.sibling_cycle("").to_string(),
    },
    Row {
        what: "most methods on a type",
        goal: "≤ 45",
        value: |it| shown_most(&it.types, |it| it.methods.len()),
    },
    Row {
        what: "most fields of a type",
        goal: "≤ 15",
        value: |it| shown_most(&it.types, |it| it.fields),
    },
    Row {
        what: "type names declared 5 times and more",
        goal: "0",
        value: |it| it.repeated(5).len().to_string(),
    },
    Row {
        what: "type names declared 3 times and more",
        goal: "≤ 20",
        value: |it| it.repeated(3).len().to_string(),
    },
    Row {
        what: "files that run for every `tools/call`, stdio to stdio",
        goal: "≤ 22",
        value: |it| it.way(|ways| &ways.stdio),
    },
    Row {
        what: "files that run for every `tools/call`, HTTP to HTTP",
        goal: "≤ 35",
        value: |it| it.way(|ways| &ways.http),
    },
    Row {
        what: "files that name one client (Goose)",
        goal: "≤ 2",
        value: |it| it.naming(&["Goose", "goose"]).len().to_string(),
    },
    Row {
        what: "files that name one setting of a server (its concurrency limit)",
        goal: "≤ 9",
        value: |it| it.naming(CONCURRENCY_LIMIT).len().to_string(),
    },
    Row {
        what: "methods named `is_`, `has_`, `can_`, `was_` that take `&mut self`",
        goal: "0",
        value: |it| it.false_questions().len().to_string(),
    },
    Row {
        what: "production lines of `crates/` (without tests; with comments and empty lines)",
        goal: "≤ 85000",
        value: |it| it.lines().to_string(),
    },
    Row {
        what: "production files of `crates/`",
        goal: "–",
        value: |it| it.product.files.len().to_string(),
    },
    Row {
        what: "lines with a `//` comment that is no doc comment",
        goal: "≥ 2 %",
        value: |it| {
            let why: usize = it.product.files.iter().map(|file| file.why_lines).sum();
            format!("{:.2} %", 100.0 * why as f64 / it.lines().max(1) as f64)
        },
    },
    Row {
        what: "size of ARCHITECTURE.md",
        goal: "≤ 12.0 kB",
        value: |it| format!("{:.1} kB", it.architecture_bytes as f64 / 1000.0),
    },
    Row { what: "lines of README.md", goal: "≤ 200", value: |it| it.readme_lines.to_string() },
];

/// What the limit is called, now or earlier: it was the field `at_once`, and only so written are these
/// words the limit (`answer_at_once` or a local `at_once: bool` mean "immediately").
const CONCURRENCY_LIMIT: &[&str] = &[
    "max_concurrency",
    "maxConcurrency",
    "MAX_CONCURRENCY",
    "MaxConcurrency",
    "Max concurrency",
    ".at_once",
    "at_once: Option",
    "CALLS_AT_ONCE",
];

/// The product of one revision, read and counted.
pub(super) struct Figures {
    product: Product,
    edges: Edges,
    types: Vec<Type>,
    ways: Option<Ways>,
    architecture_bytes: usize,
    readme_lines: usize,
}

impl Figures {
    pub(super) fn of(root: &Path, product: Product, ways: Option<Ways>) -> Result<Self, String> {
        let text = |name: &str| {
            std::fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"))
        };
        let edges = code::edges(&product);
        let types = code::types(&product);
        let architecture_bytes = text("ARCHITECTURE.md")?.len();
        let readme_lines = text("README.md")?.lines().count();
        Ok(Self { product, edges, types, ways, architecture_bytes, readme_lines })
    }

    fn crates(&self) -> Vec<String> {
        let mut names: Vec<String> = self.product.files.iter().map(|it| it.krate.clone()).collect();
        names.dedup();
        names
    }

    fn room_cycle(&self, krate: &str) -> usize {
        code::largest(&code::between_rooms(&self.product, &self.edges, krate))
    }

    /// Members of the largest circle among siblings (files, and folders as a whole) of this folder
    /// or of one below it.
    fn sibling_cycle(&self, below: &str) -> usize {
        let circles = code::sibling_cycles(&self.product, &self.edges);
        let inside = circles.iter().filter(|circle| circle.folder.starts_with(below));
        inside.map(|circle| circle.members.len()).max().unwrap_or(0)
    }

    /// … among all files below this folder, as if it had no folders of its own.
    fn file_cycle(&self, below: &str) -> usize {
        let inside = |number: &usize| self.product.files[*number].path.starts_with(below);
        let edges = self.edges.iter().filter(|(from, to)| inside(from) && inside(to));
        code::largest(&edges.copied().collect::<Edges>())
    }

    /// Names of structs and enums with how often they are declared.
    fn repeated(&self, least: usize) -> Vec<(&str, usize)> {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for declared in self.types.iter().filter(|it| it.is_own) {
            *names.entry(&declared.name).or_default() += 1;
        }
        let mut names: Vec<_> = names.into_iter().filter(|(_, times)| *times >= least).collect();
        names.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        names
    }

    fn way(&self, of: fn(&Ways) -> &Vec<String>) -> String {
        self.ways.as_ref().map_or_else(|| "(--calls)".to_owned(), |it| of(it).len().to_string())
    }

    /// Files with one of these words.
    fn naming(&self, words: &[&str]) -> Vec<&str> {
        let names = |code: &str| words.iter().any(|word| code.contains(word));
        let files = self.product.files.iter().filter(|file| names(&file.code));
        files.map(|file| file.path.as_str()).collect()
    }

    fn false_questions(&self) -> Vec<String> {
        let methods = self.types.iter().flat_map(|it| it.methods.iter().map(move |m| (it, m)));
        let false_ones = methods.filter(|(_, method)| method.is_false_question());
        false_ones.map(|(it, m)| format!("{}::{} ({})", it.name, m.name, m.file)).collect()
    }

    fn lines(&self) -> usize {
        self.product.files.iter().map(|file| file.code.lines().count()).sum()
    }

    /// Who makes up the figures.
    pub(super) fn list(&self) {
        for krate in self.crates() {
            let edges = code::between_rooms(&self.product, &self.edges, &krate);
            for members in code::components(&edges) {
                println!("\nrooms of {krate}, {} in a cycle: {}", members.len(), members.join(" "));
                self.list_room_edges(&krate, &members);
            }
        }
        for circle in code::sibling_cycles(&self.product, &self.edges) {
            let (folder, members) = (&circle.folder, &circle.members);
            println!("\n{folder}: {} in a cycle: {}", members.len(), members.join(" "));
        }
        list_most("methods", &self.types, 30, |it| it.methods.len());
        list_most("fields", &self.types, 12, |it| it.fields);
        for (name, files) in
            self.ways.iter().flat_map(|it| [("stdio", &it.stdio), ("HTTP", &it.http)])
        {
            println!("\nfiles on the way of a call over {name}:\n  {}", files.join("\n  "));
        }
        for (what, words) in [("a client", &["Goose", "goose"][..]), ("a limit", CONCURRENCY_LIMIT)]
        {
            println!("\nfiles that name {what}:\n  {}", self.naming(words).join("\n  "));
        }
        println!("\nquestions that take `&mut self`:");
        self.false_questions().iter().for_each(|it| println!("  {it}"));
        println!("\ntype names declared 3 times and more:");
        for (name, times) in self.repeated(3) {
            let files = self.types.iter().filter(|it| it.is_own && it.name == name);
            let files: Vec<_> = files.map(|it| it.file.trim_start_matches("crates/")).collect();
            println!("  {times:>3} {name}: {}", files.join(" "));
        }
    }

    /// Which files make a room need another one of its circle.
    fn list_room_edges(&self, krate: &str, members: &[&str]) {
        for (from, to) in &self.edges {
            let (from, to) = (&self.product.files[*from], &self.product.files[*to]);
            let both = from.room().zip(to.room()).filter(|(from, to)| from != to);
            let is_inside = both.is_some_and(|(a, b)| members.contains(&a) && members.contains(&b));
            if from.krate == krate && to.krate == krate && is_inside {
                println!("  {} -> {}", from.path, to.path);
            }
        }
    }
}

fn shown_most(types: &[Type], count: fn(&Type) -> usize) -> String {
    let most = types.iter().max_by_key(|it| count(it));
    most.map_or_else(|| "0".to_owned(), |it| format!("{} ({})", count(it), it.name))
}

fn list_most(what: &str, types: &[Type], least: usize, count: fn(&Type) -> usize) {
    println!("\ntypes with {least} {what} and more:");
    let mut largest: Vec<&Type> = types.iter().filter(|it| count(it) >= least).collect();
    largest.sort_by_key(|it| std::cmp::Reverse(count(it)));
    for it in largest {
        println!("  {:>3} {} ({}; in {} files)", count(it), it.name, it.file, it.spread.len());
    }
}
