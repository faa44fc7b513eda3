//! The platform to look at: pages for people, made of what the API says to whoever has signed in.
//!
//! ```text
//! door ─► routes (who may) ─► session, guard ─► screens/… ─► layout ─► page
//!                                                  │
//!                                                  └► ask: the API, in process, as the request
//! ```
//!
//! **A new screen**: (1) a row in `routes::ROUTES` with its method, path, who may, and a variant of
//! `Screen`; (2) a module in `screens/` with `async fn show(request: &PageRequest<'_>) -> PageResult`, named
//! in `screens::show`; (3) if it is in the menu, an entry in `layout::MENU`.
//!
//! - **Data** comes from `request.get("/api/v1/…")` and `request.send("POST", …)` only: the routes of
//!   REST, in process, with the request's role and grants, so that there is one decision, one mask and one
//!   record for all. What REST does not say, a page cannot show: it is added there first. What goes
//!   wrong is a `ApiError`; `?` makes the page of it, or a form shows its mistakes at the fields.
//! - **HTML** is written with `maud::html!`: values are escaped; `PreEscaped` is for our own constants.
//!   No `style=`, no `on…=`, no inline script: the policy forbids them.
//! - **Forms** post (`layout::hidden(request)` puts the token in), are checked before the screen is
//!   called, and answer with `Page::see_other` and `request.leave(Notice::…)`. `request.form` has the
//!   fields. All works without a script.
//! - **Live**: a page names what it wants to hear of (`Shell::live`), and gives the parts that
//!   change `id="…" data-live`. When something of that is told (`live`), `live.js` fetches the same
//!   page again and puts those parts in place. There is nothing else to write.

mod api_client;
mod argument_form;
mod assets;
mod chart;
mod dashboard;
mod form;
mod format;
mod guard;
mod layout;
mod lenient_json;
mod live;
mod page;
mod page_request;
mod routes;
mod screens;
mod session;
mod signed_in;
mod tool_result;
mod trials;

pub use dashboard::Dashboard;
