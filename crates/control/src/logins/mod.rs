//! The logins of servers, as the data plane asks for them: tokens from `oauth` become the header of
//! requests, refusals become renewals or the wish for a login.

mod bearer;
mod desk;
mod files;
mod marks;
mod words;

pub use desk::{Logins, Lost};
pub use files::GrantFiles;
pub use words::How;
pub(crate) use words::login_path;
