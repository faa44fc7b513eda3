//! Which names a module has, and which file a path leads to: through imports and re-exports to
//! where the item is defined.

use std::collections::{HashMap, HashSet};

use syn::{Item, UseTree, Visibility};

use super::files::{Product, is_test};

/// Re-exports of re-exports end: a ring of them is no Rust, but parses.
const DEEPEST: usize = 16;

/// A module, be it a file or a block inside one.
pub(super) struct Module {
    pub(super) file: usize,
    pub(super) parent: Option<usize>,
    pub(super) children: HashMap<String, usize>,
    defined: HashSet<String>,
    /// What imports call what.
    imported: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Target {
    Module(usize),
    /// An item of a module, by its name there.
    Item(usize, String),
}

/// One name that a `use` line brings.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    pub(super) is_glob: bool,
    /// A private import is the file's own need; the others are its door plate.
    pub(super) is_private: bool,
}

impl Product {
    /// Adds a module with what its items declare. Returns its number.
    pub(super) fn declare(
        &mut self,
        file: usize,
        items: &[Item],
        parent: Option<(usize, &str)>,
    ) -> usize {
        let mut module = Module {
            file,
            parent: parent.map(|(parent, _)| parent),
            children: HashMap::new(),
            defined: HashSet::new(),
            imported: HashMap::new(),
            globs: Vec::new(),
        };
        items.iter().for_each(|item| module.take(item));
        let number = self.modules.len();
        self.modules.push(module);
        if let Some((parent, name)) = parent {
            self.modules[parent].children.insert(name.to_owned(), number);
        }
        number
    }

    /// What the path means in this module.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Option<Target> {
        self.resolve_within(module, path, DEEPEST)
    }

    fn resolve_within(&self, module: usize, path: &[String], depth: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let depth = depth.checked_sub(1)?;
        let start = match first.as_str() {
            "crate" => Target::Module(self.root(module)),
            "self" => Target::Module(module),
            "super" => Target::Module(self.modules[module].parent?),
            name => self.lookup(module, name, rest.is_empty(), depth)?,
        };
        rest.iter().enumerate().try_fold(start, |target, (at, name)| match target {
            Target::Module(within) if name == "super" => {
                Some(Target::Module(self.modules[within].parent?))
            }
            Target::Module(within) => self.lookup(within, name, at + 1 == rest.len(), depth),
            // A variant or an associated function is where its type is.
            item @ Target::Item(..) => Some(item),
        })
    }

    fn root(&self, module: usize) -> usize {
        self.modules[module].parent.map_or(module, |parent| self.root(parent))
    }

    fn lookup(&self, module: usize, name: &str, is_last: bool, depth: usize) -> Option<Target> {
        let here = &self.modules[module];
        let child = || here.children.get(name).map(|child| Target::Module(*child));
        let item = || {
            if here.defined.contains(name) {
                return Some(Target::Item(module, name.to_owned()));
            }
            let imported = here.imported.get(name);
            imported.and_then(|path| self.resolve_within(module, path, depth))
        };
        // A module and a function may have the same name: what follows tells which is meant.
        let found = if is_last { item().or_else(child) } else { child().or_else(item) };
        found.or_else(|| {
            here.globs.iter().find_map(|path| {
                let Target::Module(glob) = self.resolve_within(module, path, depth)? else {
                    return None;
                };
                let depth = depth.checked_sub(1)?;
                (glob != module).then(|| self.lookup(glob, name, is_last, depth)).flatten()
            })
        })
    }
}

impl Module {
    fn take(&mut self, item: &Item) {
        if is_test(attributes(item)) {
            return;
        }
        if let Item::Use(import) = item {
            return imports(&import.tree, &import.vis, &mut |alias, import| match import.is_glob {
                true => self.globs.push(import.path),
                false => drop(self.imported.insert(alias, import.path)),
            });
        }
        self.defined.extend(name(item));
    }
}

fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::TraitAlias(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

pub(super) fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Union(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

/// Tells of every name that a `use` line brings what it is called here, and where it comes from.
pub(super) fn imports(tree: &UseTree, visible: &Visibility, tell: &mut impl FnMut(String, Import)) {
    let is_private = matches!(visible, Visibility::Inherited);
    walk(tree, &mut Vec::new(), &mut |alias, path, is_glob| {
        tell(alias, Import { path, is_glob, is_private });
    });
}

fn walk(
    tree: &UseTree,
    before: &mut Vec<String>,
    tell: &mut impl FnMut(String, Vec<String>, bool),
) {
    let mut whole = |last: &syn::Ident, alias: &syn::Ident| {
        // `use a::{self}` brings `a`.
        if last == "self" {
            let alias = if alias == "self" { before.last().cloned() } else { None };
            return tell(alias.unwrap_or_default(), before.clone(), false);
        }
        let path = before.iter().cloned().chain([last.to_string()]).collect();
        tell(alias.to_string(), path, false);
    };
    match tree {
        UseTree::Name(it) => whole(&it.ident, &it.ident),
        UseTree::Rename(it) => whole(&it.ident, &it.rename),
        UseTree::Glob(_) => tell(String::new(), before.clone(), true),
        UseTree::Group(it) => it.items.iter().for_each(|tree| walk(tree, before, tell)),
        UseTree::Path(it) => {
            before.push(it.ident.to_string());
            walk(&it.tree, before, tell);
            before.pop();
        }
    }
}
