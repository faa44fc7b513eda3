//! The answers every contender must give: the direct children's own.

use super::call::{self, Ask};
use super::contender::Kind;
use super::route::Route;
use super::target::{Place, Shape, Target};
use crate::era::Era;
use std::collections::HashMap;

/// The direct children's answers, by era, server and tool.
#[derive(Debug, Default)]
pub(super) struct Expected(HashMap<(Era, (usize, usize)), Vec<u8>>);

impl Expected {
    /// Asks every child of each of the eras directly.
    pub(super) fn record(
        place: &Place,
        eras: &[Era],
        (shape, route): (Shape, Route),
        pairs: &[(usize, usize)],
        ask: Ask,
    ) -> Result<Self, String> {
        let mut answers = HashMap::new();
        for &era in eras {
            let direct = Kind::Direct.of(era);
            let mut direct = Target::ready(place, &direct, shape, route.narrow())?;
            for &(server, tool) in pairs {
                let mut call = direct.call((server, tool), ask)?;
                let connection = direct.connection(server);
                let span = call::call_once(connection, &mut call, call::id(0, 0))?;
                answers.insert((era, (server, tool)), connection.bytes()[span].to_vec());
            }
        }
        Ok(Self(answers))
    }

    /// The direct answer of a server's tool.
    pub(super) fn of(&self, era: Era, pair: (usize, usize)) -> Result<&[u8], String> {
        let answer = self.0.get(&(era, pair)).map(Vec::as_slice);
        answer.ok_or_else(|| format!("no direct answer for {pair:?}"))
    }
}

/// Every tool of every server, neighbours on different servers.
pub(super) fn every_tool(shape: Shape) -> Vec<(usize, usize)> {
    (0..shape.tools).flat_map(|tool| (0..shape.servers).map(move |server| (server, tool))).collect()
}
