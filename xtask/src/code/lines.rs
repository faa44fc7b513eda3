//! Lines of a file that are no test, and those of them with a comment that says why.

use std::collections::BTreeSet;

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use syn::Item;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::files::is_test;
use super::modules::attributes;

/// The lines that are no test, and how many of them hold a `//` comment that is no doc comment.
pub(super) fn production(text: &str, syntax: &syn::File) -> (String, usize) {
    let mut tests = Tests(BTreeSet::new());
    tests.visit_file(syntax);
    let is_product = |line: &usize| !tests.0.contains(line);
    let kept = text.lines().enumerate().filter(|(at, _)| is_product(&(at + 1)));
    let code = kept.flat_map(|(_, line)| [line, "\n"]).collect();
    let why = comments(text).into_iter().filter(is_product).count();
    (code, why)
}

/// The lines of tests.
struct Tests(BTreeSet<usize>);

impl Tests {
    fn skip(&mut self, attributes: &[syn::Attribute], item: &impl Spanned) -> bool {
        let is_test = is_test(attributes);
        if is_test {
            self.0.extend(item.span().start().line..=item.span().end().line);
        }
        is_test
    }
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item(&mut self, item: &'ast Item) {
        if !self.skip(attributes(item), item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.skip(&function.attrs, function);
    }
}

/// The lines with `//` in what no token covers: doc comments are tokens, texts are tokens.
fn comments(text: &str) -> Vec<usize> {
    let mut lines: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let Ok(tokens) = text.parse::<TokenStream>() else { return Vec::new() };
    blank(tokens, &mut lines);
    let has_comment = |line: &Vec<char>| {
        let rest: String = line.iter().collect();
        rest.contains("//")
    };
    let numbered = lines.iter().enumerate().filter(|(_, line)| has_comment(line));
    numbered.map(|(at, _)| at + 1).collect()
}

fn blank(tokens: TokenStream, lines: &mut [Vec<char>]) {
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            blank(group.stream(), lines);
            // A doc comment becomes `#[doc = "…"]`, whose brackets are all of the comment.
            let (open, close) = (group.span_open(), group.span_close());
            cover(open.start(), open.end(), lines);
            cover(close.start(), close.end(), lines);
        } else {
            cover(token.span().start(), token.span().end(), lines);
        }
    }
}

fn cover(start: LineColumn, end: LineColumn, lines: &mut [Vec<char>]) {
    for line in start.line..=end.line {
        let Some(text) = lines.get_mut(line.wrapping_sub(1)) else { continue };
        let from = if line == start.line { start.column } else { 0 };
        let to = if line == end.line { end.column } else { text.len() };
        let to = to.min(text.len());
        if let Some(part) = text.get_mut(from..to) {
            part.fill(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_and_reasons_of_the_product_are_counted() {
        let text = "//! Plate.\n\
                    \n\
                    /// What it is.\n\
                    fn a() {\n\
                    \x20   // The reason.\n\
                    \x20   b(\"http://x\"); // another\n\
                    \x20   c(\"two\n// lines\");\n\
                    }\n\
                    \n\
                    #[cfg(test)]\n\
                    mod tests {\n\
                    \x20   // no reason\n\
                    }\n";
        let syntax = syn::parse_file(text).unwrap();
        let (code, why) = super::production(text, &syntax);
        assert_eq!((code.lines().count(), why), (10, 2));
        assert!(!code.contains("no reason"));
    }
}
