//! The servers of a running gateway, for the control plane.

mod call;
mod handle;
mod info;
mod private;
mod retired;
mod served_list;

pub use call::{CallFailure, CountedRequest, FailureKind, ToolAnswer, ToolCall};
pub use handle::{Applied, Fleet, HealthVerdict};
pub use info::{CustomInfo, Offer, OfferMark, PastFailure, ServerInfo, ToolInfo};
pub use private::{PrivateProcess, Restarted};
pub use retired::Retired;
pub use served_list::ServedList;
