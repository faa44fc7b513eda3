//! All routes. The router, `OpenAPI`, the docs and the test of who may do what read them.

use super::handle::{figures, keys, logins, search, secrets, servers, skills, tools};
use super::route::{Route, RouteTables};

/// In the order of the document.
pub const TABLES: RouteTables = &[
    servers::ROUTES,
    logins::ROUTES,
    tools::ROUTES,
    search::ROUTES,
    skills::ROUTES,
    secrets::ROUTES,
    keys::ROUTES,
    figures::ROUTES,
];

pub fn all() -> impl Iterator<Item = &'static Route> {
    TABLES.iter().copied().flatten()
}

#[cfg(test)]
mod tests;
