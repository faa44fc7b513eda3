//! The types that the product declares: where, with how many fields, and with how many methods
//! over all their `impl` blocks.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, ImplItem, Item};

use super::files::{Product, is_test};
use super::modules::{Target, attributes};

/// A declared type.
#[derive(Debug, Clone, Default)]
pub struct Type {
    /// The file that declares it.
    pub file: String,
    pub name: String,
    /// Is it a struct or an enum, and no other name for one?
    pub is_own: bool,
    pub fields: usize,
    /// Functions of its own `impl` blocks; those of traits are not its choice.
    pub methods: Vec<Method>,
    /// Files with such blocks.
    pub spread: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub struct Method {
    pub name: String,
    pub file: String,
    pub takes_mut_self: bool,
}

impl Method {
    /// Does its name ask while it may change something?
    pub fn is_false_question(&self) -> bool {
        let asks = ["is_", "has_", "can_", "was_"].iter().any(|word| self.name.starts_with(word));
        asks && self.takes_mut_self
    }
}

/// All of them, in the order of their files.
pub fn types(product: &Product) -> Vec<Type> {
    let mut found: BTreeMap<Target, Type> = BTreeMap::new();
    each_item(product, &mut |module, item| {
        if let Some((name, is_own, fields)) = declared(item) {
            let file = product.files[product.modules[module].file].path.clone();
            let target = Target::Item(module, name.clone());
            let declared = Type { file, name, is_own, fields, ..Type::default() };
            found.insert(target, declared);
        }
    });
    each_item(product, &mut |module, item| {
        let Item::Impl(block) = item else { return };
        let syn::Type::Path(of) = &*block.self_ty else { return };
        if block.trait_.is_some() {
            return;
        }
        let path: Vec<String> = of.path.segments.iter().map(|it| it.ident.to_string()).collect();
        let Some(of) = product.resolve(module, &path).and_then(|it| found.get_mut(&it)) else {
            return;
        };
        let file = &product.files[product.modules[module].file].path;
        of.spread.insert(file.clone());
        for item in &block.items {
            let ImplItem::Fn(function) = item else { continue };
            if is_test(&function.attrs) {
                continue;
            }
            let receiver = function.sig.receiver();
            let takes_mut_self = receiver.is_some_and(|it| {
                let is_mut = matches!(&*it.ty, syn::Type::Reference(to) if to.mutability.is_some());
                is_mut && it.reference.is_some()
            });
            let (name, file) = (function.sig.ident.to_string(), file.clone());
            of.methods.push(Method { name, file, takes_mut_self });
        }
    });
    found.into_values().collect()
}

/// Every item with its module, without tests.
fn each_item(product: &Product, tell: &mut impl FnMut(usize, &Item)) {
    for (number, module) in product.modules.iter().enumerate() {
        let is_file = module.parent.is_none_or(|it| product.modules[it].file != module.file);
        if is_file {
            inside(product, number, &product.files[module.file].syntax.items, tell);
        }
    }
}

fn inside(product: &Product, module: usize, items: &[Item], tell: &mut impl FnMut(usize, &Item)) {
    for item in items.iter().filter(|item| !is_test(attributes(item))) {
        tell(module, item);
        let Item::Mod(block) = item else { continue };
        let child = product.modules[module].children.get(&block.ident.to_string());
        if let (Some((_, items)), Some(child)) = (&block.content, child) {
            inside(product, *child, items, tell);
        }
    }
}

/// Name, whether it is a type of its own, and fields.
fn declared(item: &Item) -> Option<(String, bool, usize)> {
    let count = |fields: &Fields| fields.len();
    Some(match item {
        Item::Struct(it) => (it.ident.to_string(), true, count(&it.fields)),
        Item::Enum(it) => {
            let most = it.variants.iter().map(|variant| count(&variant.fields)).max();
            (it.ident.to_string(), true, most.unwrap_or(0))
        }
        Item::Trait(it) => (it.ident.to_string(), false, 0),
        Item::Type(it) => (it.ident.to_string(), false, 0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::product_of;
    use super::*;

    #[test]
    fn methods_count_over_all_files_and_traits_and_tests_do_not() {
        let product = product_of(&[
            ("crates/a/src/lib.rs", "mod thing; mod more; mod other;"),
            (
                "crates/a/src/thing.rs",
                "pub struct Thing { a: u8, b: u8 }\n\
                 impl Thing { pub fn one(&self) {} #[cfg(test)] fn no(&self) {} }\n\
                 impl Clone for Thing { fn clone(&self) -> Self { todo!() } }",
            ),
            (
                "crates/a/src/more.rs",
                "use crate::thing::Thing;\nimpl Thing { fn is_mended(&mut self) {} fn three() {} }",
            ),
            ("crates/a/src/other.rs", "enum Thing { A, B(u8) }"),
        ]);
        let types = types(&product);
        let [thing, other] = types.as_slice() else { panic!("{types:?}") };
        let names: Vec<_> = thing.methods.iter().map(|it| it.name.as_str()).collect();
        assert_eq!((thing.fields, names), (2, vec!["one", "is_mended", "three"]));
        assert_eq!(thing.spread.len(), 2);
        assert!(thing.methods[1].takes_mut_self && !thing.methods[0].takes_mut_self);
        assert_eq!((other.name.as_str(), other.fields, other.methods.len()), ("Thing", 1, 0));
    }
}
