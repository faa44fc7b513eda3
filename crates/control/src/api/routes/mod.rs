//! All routes. The router, `OpenAPI`, the docs and the test of who may do what read them.

use super::handle::ROUTES;
use super::route::Route;

pub fn all() -> impl Iterator<Item = &'static Route> {
    ROUTES.into_iter().flatten()
}

#[cfg(test)]
mod tests;
