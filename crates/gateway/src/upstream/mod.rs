//! The servers: how they are started, kept, asked, and matched with their answers.

mod calls;
mod connection;
mod http;
mod inbound;
mod lifecycle;
mod listening;
mod questions;
mod shown;
mod stdio;
mod transport;

pub(crate) use calls::wait_queue::WaitQueue;
pub(crate) use connection::Connection;
pub use connection::hints::{Hints, ToolAnnotations};
pub use http::client_tls;
pub(crate) use lifecycle::answers::result_subject;
pub(crate) use lifecycle::condemn::{condemn, condemn_life, set_failing};
pub use lifecycle::declared::Declared;
pub(crate) use lifecycle::declared::{object_of, passed_on};
pub(crate) use lifecycle::definition::Services;
pub use lifecycle::definition::{Restart, RunPolicy};
pub(crate) use lifecycle::make_room::make_room;
pub(crate) use lifecycle::offer_changes::OfferChanges;
pub(crate) use lifecycle::reconsider::{
    expect_anew, holds_texts, pinned_entry, reconsider_pins, set_on_change,
};
pub(crate) use lifecycle::server::{Server, outdated_call};
pub(crate) use lifecycle::signals::LifeVerdict;
pub(crate) use lifecycle::start_gate::StartGate;
pub use lifecycle::state::{Failure, Phase, Retry, State, Status};
pub(crate) use lifecycle::supervise::supervise;
pub(crate) use lifecycle::supervisor::Supervisor;
pub use lifecycle::supervisor::TOLD;
pub(crate) use questions::parking::Parking;
pub use stdio::launch::Inherited;
pub use stdio::named_paths::{install_root as package_root, is_broad};
pub use stdio::sandbox::SandboxReport;
pub use stdio::sandbox_policy::SandboxPolicy;
pub(crate) use transport::Answer;
