//! The data plane: one message on its way from a client to a server and back.
//!
//! `front` → `session` → `router` (where to) → `upstream` (go); the answer returns through the
//! call's `Client`. No room calls back up by name.

mod call;
mod deadlines;
mod era;
mod error;
mod face;
mod front;
mod gate;
mod gateway;
mod instance;
mod limits;
mod local;
mod pump;
mod registry;
mod router;
mod session;
mod stream;
mod upstream;

pub use face::Face;
pub use front::http::{Attachment, HttpOptions, WebHeaders, WebReply, WebStream, WebVisit};
pub use gate::{Admission, Asking, Decision, Denied, Gate, Grant, Pass};
pub use gateway::{Applied, Gateway, Options, Reloader};
pub use limits::Limits;
pub use local::{LocalClient, LocalError, News, params_of};
pub use upstream::{Declared, Failure, Inherited, Phase, Restart, State, Status, client_tls};
