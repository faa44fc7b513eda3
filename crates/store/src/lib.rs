//! Records of the platform (servers, credentials, tools, health, keys, audit) in a database.
//!
//! One text of SQL and one logic for both (`records`, `audit`, `change`), on a `session` that
//! knows how to speak to each. A write that was acknowledged is on disk.

mod audit;
mod change;
mod changes;
mod dump;
mod error;
mod limits;
mod postgres;
mod queries;
mod records;
mod schema;
pub mod seal;
mod session;
mod sqlite;
mod store;
mod url;
mod value;

pub use audit::{AuditFilter, AuditHead, AuditKey, AuditRecord, AuditRetention, AuditVerdict};
pub use audit::{NewAudit, PrunedAudit, TextMatch};
pub use change::{Change, Committed};
pub use changes::Changes;
pub use dump::{Dumped, DumpedTable};
pub use error::StoreError;
pub use records::*;
pub use store::{Store, StoreOptions};
pub use url::{StoreUrl, UrlError};
pub use value::Cell;
