//! Which file needs which: an edge leads from a file that names an item to the file that defines
//! it. A re-export is followed and is none itself: a door plate needs nothing of what it shows.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::cycles::components;
use super::files::{File, Product, is_test};
use super::modules::{Target, attributes, imports};

/// From file to file, by their numbers.
pub type Edges = BTreeSet<(usize, usize)>;

pub fn edges(product: &Product) -> Edges {
    let mut edges = Edges::new();
    for (number, file) in product.files.iter().enumerate() {
        let module = product.modules.iter().position(|module| module.file == number);
        let Some(module) = module else { continue };
        let mut walk = Walk { product, module, file: number, edges: &mut edges };
        walk.visit_file(&file.syntax);
    }
    edges
}

struct Walk<'a> {
    product: &'a Product,
    /// In which the visitor is.
    module: usize,
    file: usize,
    edges: &'a mut Edges,
}

impl Walk<'_> {
    fn names(&mut self, path: &[String]) {
        if let Some(Target::Item(module, _)) = self.product.resolve(self.module, path) {
            let file = self.product.modules[module].file;
            // Two programs of one crate share no module.
            if file != self.file {
                self.edges.insert((self.file, file));
            }
        }
    }

    /// Paths in what a macro is given, which is no syntax yet.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Ident(name) => {
                    self.names(&path);
                    path = vec![name.to_string()];
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.names(&path);
                    path.clear();
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.names(&path);
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test(attributes(item)) {
            return;
        }
        if let syn::Item::Mod(declared) = item {
            let Some((_, items)) = &declared.content else { return };
            let name = declared.ident.to_string();
            let Some(child) = self.product.modules[self.module].children.get(&name) else { return };
            let before = std::mem::replace(&mut self.module, *child);
            items.iter().for_each(|item| self.visit_item(item));
            self.module = before;
            return;
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        imports(&import.tree, &import.vis, &mut |_, import| {
            if import.is_private && !import.is_glob {
                self.names(&import.path);
            }
        });
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        self.names(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.visit_path(&invoked.path);
        self.tokens(invoked.tokens.clone());
    }
}

/// The edges between rooms of this crate, by the names of both.
pub fn between_rooms<'a>(
    product: &'a Product,
    edges: &Edges,
    krate: &str,
) -> BTreeSet<(&'a str, &'a str)> {
    let room = |number: usize| {
        let file: &File = &product.files[number];
        (file.krate == krate).then(|| file.room()).flatten()
    };
    let rooms = edges.iter().filter_map(|(from, to)| Some((room(*from)?, room(*to)?)));
    rooms.filter(|(from, to)| from != to).collect()
}

/// Siblings inside a room that need each other in a circle.
pub struct Circle {
    /// With a slash at its end: `crates/gateway/src/upstream/`.
    pub folder: String,
    /// Files of the folder, and folders in it as a whole.
    pub members: Vec<String>,
}

/// All circles among siblings of any folder inside a room, largest first.
pub fn sibling_cycles(product: &Product, edges: &Edges) -> Vec<Circle> {
    let mut by_folder: BTreeMap<&str, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for (from, to) in edges {
        let (from, to) = (product.files[*from].path.as_str(), product.files[*to].path.as_str());
        if let Some((folder, from, to)) = siblings(from, to) {
            by_folder.entry(folder).or_default().insert((from, to));
        }
    }
    let circles = by_folder.into_iter().flat_map(|(folder, edges)| {
        components(&edges).into_iter().map(|members| Circle {
            folder: folder.to_owned(),
            members: members.into_iter().map(str::to_owned).collect(),
        })
    });
    let mut circles: Vec<Circle> = circles.collect();
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.members.len()));
    circles
}

/// The folder in which the ways to two files part, if it is inside a room, and their names in it.
fn siblings<'a>(from: &'a str, to: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let parted = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
    let folder = from.get(..parted)?.rfind('/')? + 1;
    let name = |path: &'a str| path.get(folder..)?.split('/').next();
    let is_inside_a_room =
        from.get(..folder)?.split_once("/src/").is_some_and(|it| !it.1.is_empty());
    Some((from.get(..folder)?, name(from)?, name(to)?)).filter(|_| is_inside_a_room)
}

#[cfg(test)]
mod tests {
    use super::super::product_of;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let product = product_of(files);
        let name = |number: usize| {
            let path = &product.files[number].path;
            path.split_once("/src/").unwrap().1.to_owned()
        };
        edges(&product).into_iter().map(|(from, to)| (name(from), name(to))).collect()
    }

    fn edge(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_item_and_is_no_edge_itself() {
        let files = [
            ("crates/a/src/lib.rs", "mod room;\nmod user;\npub use room::Thing;"),
            ("crates/a/src/room/mod.rs", "mod thing;\npub(crate) use thing::Thing;"),
            ("crates/a/src/room/thing.rs", "pub struct Thing;"),
            ("crates/a/src/user.rs", "use crate::room::Thing;\nimpl Thing { fn more(&self) {} }"),
        ];
        assert_eq!(found(&files), [edge("user.rs", "room/thing.rs")]);
    }

    #[test]
    fn paths_in_code_and_macros_count_and_tests_do_not() {
        let files = [
            ("crates/a/src/lib.rs", "mod one; mod two; mod three; mod four;"),
            (
                "crates/a/src/one.rs",
                "use crate::three;\n\
                 fn a() { crate::two::b(); println!(\"{}\", three::C); }\n\
                 #[cfg(test)] mod tests { use crate::four::d; }",
            ),
            ("crates/a/src/two.rs", "pub fn b() {}"),
            ("crates/a/src/three.rs", "pub const C: u8 = 1;"),
            ("crates/a/src/four.rs", "pub fn d() { super::one::tests(); }"),
        ];
        assert_eq!(found(&files), [edge("one.rs", "two.rs"), edge("one.rs", "three.rs")]);
    }

    #[test]
    fn rooms_need_what_their_files_need() {
        let product = product_of(&[
            ("crates/a/src/lib.rs", "mod api; mod core;"),
            ("crates/a/src/api/mod.rs", "mod view;"),
            ("crates/a/src/api/view.rs", "use crate::core::Model;"),
            ("crates/a/src/core.rs", "pub struct Model;"),
        ]);
        let edges = edges(&product);
        assert_eq!(between_rooms(&product, &edges, "a"), BTreeSet::from([("api", "core")]));
        assert_eq!(between_rooms(&product, &edges, "b"), BTreeSet::new());
    }

    #[test]
    fn a_circle_is_among_siblings() {
        let product = product_of(&[
            ("crates/a/src/lib.rs", "mod room; mod other;"),
            ("crates/a/src/other.rs", "pub struct O; use crate::room::near::N;"),
            ("crates/a/src/room/mod.rs", "pub mod near; mod far;"),
            (
                "crates/a/src/room/near.rs",
                "pub struct N; use super::far::deep::D; use crate::other::O;",
            ),
            ("crates/a/src/room/far/mod.rs", "pub mod deep; pub mod wide;"),
            ("crates/a/src/room/far/deep.rs", "pub struct D; use super::wide::W;"),
            ("crates/a/src/room/far/wide.rs", "pub struct W; use crate::room::near::N;"),
        ]);
        let circles = sibling_cycles(&product, &edges(&product));
        let [circle] = circles.as_slice() else { panic!("{}", circles.len()) };
        assert_eq!(circle.folder, "crates/a/src/room/");
        assert_eq!(circle.members, ["far", "near.rs"]);
    }
}
