//! The answers every contender must give: the direct children's own.

use super::call::{self, Ask};
use super::route::Route;
use super::target::{Kind, Place, Shape, Target};
use std::collections::HashMap;

/// The direct children's answers.
#[derive(Debug, Default)]
pub(super) struct Expected(HashMap<(usize, usize), Vec<u8>>);

impl Expected {
    /// Asks every child directly.
    pub(super) fn record(
        place: &Place,
        (shape, route): (Shape, Route),
        pairs: &[(usize, usize)],
        ask: Ask,
    ) -> Result<Self, String> {
        let mut direct = Target::ready(place, &Kind::Direct, shape, route.narrow())?;
        let mut answers = HashMap::new();
        for &(server, tool) in pairs {
            let mut call = direct.call((server, tool), ask)?;
            let connection = direct.connection(server);
            let span = call::call_once(connection, &mut call, call::id(0, 0))?;
            answers.insert((server, tool), connection.bytes()[span].to_vec());
        }
        Ok(Self(answers))
    }

    /// The direct answer of a server's tool.
    pub(super) fn of(&self, pair: (usize, usize)) -> Result<&[u8], String> {
        self.0.get(&pair).map(Vec::as_slice).ok_or_else(|| format!("no direct answer for {pair:?}"))
    }
}

/// Every tool of every server, neighbours on different servers.
pub(super) fn every_tool(shape: Shape) -> Vec<(usize, usize)> {
    (0..shape.tools).flat_map(|tool| (0..shape.servers).map(move |server| (server, tool))).collect()
}
