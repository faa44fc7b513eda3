//! The servers of a running gateway, for the control plane.

mod call;
mod handle;
mod info;
mod retired;
mod served_list;

pub use call::{Answer, CallFailure, FailureKind, ToolCall};
pub use handle::{Applied, Fleet, Verdict};
pub use info::{CustomInfo, Offer, OfferMark, ServerInfo, ToolInfo};
pub use retired::Retired;
pub use served_list::ServedList;
