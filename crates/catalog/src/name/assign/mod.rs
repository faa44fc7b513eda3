//! Names for a whole set of tools at once: pure, injective, and independent of the set's order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::iter;
use std::sync::Arc;

use crate::client::Client;
use crate::name::admissible::escaped;
use crate::name::naming::{Identity, Naming};
use crate::name::spelling::{Fingerprint, Mark, Spelling};

/// Gives every tool its names, in input order. The same tool twice gets the same names twice.
///
/// A name is marked with a hash of the tool's own identity when it is too long for the client, when
/// another tool would be spelt the same (then both are), when it looks like a marked one, or when it
/// is another tool's canonical name. So no name depends on the order, and a new tool renames only
/// those that it collides with.
pub fn assign(tools: &[Identity<'_>], naming: &Naming) -> Assignment {
    let canonical: Vec<String> = tools.iter().map(|tool| naming.canonical_name(*tool)).collect();
    // Canonical names first: they are accepted on call beside the listed ones, so that no other
    // tool may be listed under one of them.
    let taken = Claims::of(tools, &canonical);
    let ambiguous = clashes(tools, &canonical, &taken, &canonical);
    let mut warnings: Vec<NameWarning> =
        ambiguous.into_iter().map(|names| NameWarning::Ambiguous { names }).collect();

    let rules = naming.client().map(|client| &client.spec().names);
    let spelling = rules.map_or(Spelling::Canonical(naming), Spelling::Client);
    let mut wire: Vec<String> = tools.iter().map(|tool| spelling.plain(*tool)).collect();
    let collisions = mark_where_needed(tools, &mut wire, &taken, spelling, &canonical);
    // In a second pass: two short hashes may be equal, or spell another tool's canonical name.
    settle_equal_marks(tools, &mut wire, &taken, spelling);

    if let Some(client) = naming.client() {
        warnings
            .extend(collisions.into_iter().map(|names| NameWarning::Collision { client, names }));
        warnings.extend(over_budget(tools, client));
    }
    let names = iter::zip(tools, iter::zip(wire, &canonical)).map(|(tool, (wire, canonical))| {
        let alone = !taken.contested(canonical, *tool);
        let canonical = alone.then(|| canonical.as_str().into());
        Assigned { wire: wire.into(), canonical }
    });
    Assignment { names: names.collect(), warnings }
}

/// The names of a set of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// In the order of the tools.
    pub names: Vec<Assigned>,
    /// In a stable order, whatever the order of the tools.
    pub warnings: Vec<NameWarning>,
}

/// The names one tool answers to, as clients say them. No name of one tool is a name of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// The name in lists.
    pub wire: Arc<str>,
    /// Also accepted on call; `None` when two tools have the same one, so that a call is refused
    /// rather than sent to the wrong tool.
    pub canonical: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameWarning {
    /// Key and tool put together read the same: `a` + `b:c` and `a:b` + `c`.
    Ambiguous {
        names: Vec<String>,
    },
    /// Different tools the client would take for one; each got its hash.
    Collision {
        client: Client,
        names: Vec<String>,
    },
    OverBudget {
        client: Client,
        tools: usize,
        budget: usize,
        beyond: &'static str,
    },
}

impl fmt::Display for NameWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambiguous { names } => write!(
                f,
                "two tools have the same name, both are exposed with a hash instead: {}",
                quoted(names)
            ),
            Self::Collision { client, names } => write!(
                f,
                "{} cannot tell these tools apart, each got a hash in its name: {}",
                client.title(),
                quoted(names)
            ),
            Self::OverBudget { client, tools, budget, beyond } => write!(
                f,
                "{tools} tools: above {budget} {} {beyond}; hide some with `hiddenTools`",
                client.title()
            ),
        }
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", escaped(name))).collect();
    quoted.join(", ")
}

/// Who wants which name.
struct Claims<'a>(HashMap<&'a str, Claim<'a>>);

enum Claim<'a> {
    One(Identity<'a>),
    Many,
}

impl<'a> Claims<'a> {
    fn of(tools: &[Identity<'a>], names: &'a [String]) -> Self {
        let mut claims = HashMap::with_capacity(tools.len());
        for (tool, name) in iter::zip(tools, names) {
            claims
                .entry(name.as_str())
                .and_modify(|claim| match claim {
                    Claim::One(owner) if owner == tool => {}
                    other => *other = Claim::Many,
                })
                .or_insert(Claim::One(*tool));
        }
        Self(claims)
    }

    /// Whether somebody else wants this name too.
    fn contested(&self, name: &str, by: Identity<'_>) -> bool {
        match self.0.get(name) {
            None => false,
            Some(Claim::One(owner)) => *owner != by,
            Some(Claim::Many) => true,
        }
    }
}

/// Marks whatever cannot stand as it is; returns the groups that collided.
fn mark_where_needed(
    tools: &[Identity<'_>],
    wire: &mut [String],
    taken: &Claims<'_>,
    spelling: Spelling<'_>,
    canonical: &[String],
) -> Vec<Vec<String>> {
    let folded: Vec<String> = wire.iter().map(|name| spelling.folded(name)).collect();
    let wanted = Claims::of(tools, &folded);
    for ((tool, name), folded) in iter::zip(iter::zip(tools, wire), &folded) {
        if spelling.must_mark(folded)
            || wanted.contested(folded, *tool)
            || taken.contested(name, *tool)
        {
            *name = spelling.marked(*tool, Mark::Short, Fingerprint::of(*tool));
        }
    }
    clashes(tools, &folded, &wanted, canonical)
}

/// Gives the long mark to tools whose short mark came out equal or is another's canonical name.
fn settle_equal_marks(
    tools: &[Identity<'_>],
    wire: &mut [String],
    taken: &Claims<'_>,
    spelling: Spelling<'_>,
) {
    let folded: Vec<String> = wire.iter().map(|name| spelling.folded(name)).collect();
    let wanted = Claims::of(tools, &folded);
    for ((tool, name), folded) in iter::zip(iter::zip(tools, wire), &folded) {
        if wanted.contested(folded, *tool) || taken.contested(name, *tool) {
            *name = free(*tool, taken, spelling);
        }
    }
}

/// The first long-marked name that is nobody else's canonical name: that one always wins.
fn free(tool: Identity<'_>, taken: &Claims<'_>, spelling: Spelling<'_>) -> String {
    let mut print = Fingerprint::of(tool);
    loop {
        let name = spelling.marked(tool, Mark::Long, print);
        // ends: every turn gives another name, and only as many are taken as there are tools
        if !taken.contested(&name, tool) {
            return name;
        }
        print = print.next();
    }
}

/// For each name that several tools want, their canonical names.
fn clashes(
    tools: &[Identity<'_>],
    wanted: &[String],
    claims: &Claims<'_>,
    canonical: &[String],
) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((tool, name), canonical) in iter::zip(iter::zip(tools, wanted), canonical) {
        if claims.contested(name, *tool) {
            groups.entry(name).or_default().insert(canonical);
        }
    }
    groups.into_values().map(|group| group.into_iter().map(str::to_owned).collect()).collect()
}

fn over_budget(tools: &[Identity<'_>], client: Client) -> Option<NameWarning> {
    let budget = client.spec().budget?;
    let tools = tools.iter().collect::<BTreeSet<_>>().len();
    (tools > budget.tools).then_some(NameWarning::OverBudget {
        client,
        tools,
        budget: budget.tools,
        beyond: budget.beyond,
    })
}

#[cfg(test)]
mod tests;
