//! All routes, as the router, `OpenAPI`, the docs and the test of who may do what read them.

pub use super::handle::TABLES;
use super::route::Route;

pub fn all() -> impl Iterator<Item = &'static Route> {
    TABLES.iter().copied().flatten()
}

#[cfg(test)]
mod tests;
