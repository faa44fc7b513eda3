//! Finds which lines of a YAML text belong to which member.

use std::ops::Range;

use yaml_rust2::parser::{Event, MarkedEventReceiver, Parser};
use yaml_rust2::scanner::Marker;

/// A member of an object that is written as a block.
#[derive(Debug)]
pub(super) struct BlockMember {
    path: Vec<String>,
    pub(super) indent: usize,
    /// Counted from 0; comments and empty lines behind it are not its own.
    pub(super) lines: Range<usize>,
    pub(super) body: Body,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// An object, whose members stand this far from the left.
    Block {
        indent: usize,
    },
    /// Nothing, or `{}`.
    Nothing,
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Outline {
    members: Vec<BlockMember>,
}

impl Outline {
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut found = KeyCollector::default();
        Parser::new_from_str(text).load(&mut found, false).ok()?;
        let lines: Vec<&str> = text.lines().collect();
        let mut outline = Self::default();
        for (at, key) in found.keys.iter().enumerate() {
            // What comes next and is not inside.
            let next = found.keys.iter().skip(at + 1).find(|next| next.indent <= key.indent);
            let end = next.map_or(lines.len(), |next| next.line);
            let end = own_end(&lines, key, end);
            let body = body(&lines, key, found.keys.get(at + 1), &(key.line..end));
            let path = found.path(at);
            outline.members.push(BlockMember {
                path,
                indent: key.indent,
                lines: key.line..end,
                body,
            });
        }
        Some(outline)
    }

    pub(super) fn find(&self, path: &[&str]) -> Option<&BlockMember> {
        self.members.iter().find(|member| member.path == path)
    }
}

/// A name of a member at the start of its line.
#[derive(Debug)]
struct BlockKey {
    name: String,
    line: usize,
    indent: usize,
    depth: usize,
    empty: bool,
}

/// Listens to the parser. Only objects inside objects are of interest.
#[derive(Debug, Default)]
struct KeyCollector {
    keys: Vec<BlockKey>,
    open: Vec<OpenNode>,
}

#[derive(Debug)]
enum OpenNode {
    /// An object; whether a name comes next.
    Object {
        name_next: bool,
    },
    List,
}

impl KeyCollector {
    fn path(&self, at: usize) -> Vec<String> {
        let mut path = Vec::new();
        let mut depth = usize::MAX;
        for key in self.keys.iter().take(at + 1).rev() {
            if key.depth < depth {
                depth = key.depth;
                path.push(key.name.clone());
            }
        }
        path.reverse();
        path
    }

    /// Passes one node: true if it is a name of the enclosing object, whose value comes next.
    fn pass_node(&mut self) -> bool {
        match self.open.last_mut() {
            Some(OpenNode::Object { name_next }) => {
                *name_next = !*name_next;
                !*name_next
            }
            _ => false,
        }
    }
}

impl MarkedEventReceiver for KeyCollector {
    fn on_event(&mut self, event: Event, at: Marker) {
        let in_list = self.open.iter().any(|open| matches!(open, OpenNode::List));
        match event {
            Event::MappingStart(..) => {
                self.pass_node();
                self.open.push(OpenNode::Object { name_next: true });
            }
            Event::SequenceStart(..) => {
                self.pass_node();
                self.open.push(OpenNode::List);
            }
            Event::MappingEnd | Event::SequenceEnd => drop(self.open.pop()),
            Event::Scalar(text, ..) => {
                if self.pass_node() && !in_list {
                    let (line, indent) = (at.line().saturating_sub(1), at.col());
                    let depth = self.open.len();
                    self.keys.push(BlockKey { name: text, line, indent, depth, empty: false });
                } else if let Some(key) = self.keys.last_mut().filter(|_| !in_list) {
                    key.empty = text.is_empty();
                }
            }
            Event::Alias(_) => drop(self.pass_node()),
            _ => {}
        }
    }
}

/// Comments as far to the left as the member itself, and empty lines, belong to what comes next.
fn own_end(lines: &[&str], key: &BlockKey, end: usize) -> usize {
    let of_others = |line: &&&str| {
        let bare = line.trim_start();
        let left = line.len() - bare.len() <= key.indent;
        bare.is_empty() || (left && bare.starts_with('#'))
    };
    let inside = lines.get(key.line + 1..end).unwrap_or_default();
    end - inside.iter().rev().take_while(of_others).count()
}

fn body(lines: &[&str], key: &BlockKey, next: Option<&BlockKey>, own: &Range<usize>) -> Body {
    let line = lines.get(key.line).copied().unwrap_or_default();
    let rest = line.get(key.indent..).and_then(|rest| rest.split_once(':'));
    let rest = rest.map(|(_, rest)| rest.split(" #").next().unwrap_or_default().trim());
    let inside = next.filter(|next| next.depth == key.depth + 1 && own.contains(&next.line));
    match (rest, inside) {
        (Some("{}"), None) => Body::Nothing,
        (Some(""), None) if key.empty => Body::Nothing,
        (Some(_), Some(next)) if next.line > key.line => Body::Block { indent: next.indent },
        _ => Body::Other,
    }
}
