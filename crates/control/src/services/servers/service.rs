//! `ServerService`: what changes and shows servers. `change` writes, `report` and `details` read.

use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};

use crate::audit::Audit;
use crate::logins::Logins;
use crate::services::background::Background;
use crate::services::connections::ConnectionOpener;
use crate::services::events::EventBus;
use crate::services::live::LiveServers;
use crate::services::monitor::Monitor;
use crate::services::settings::Settings;

#[derive(Debug)]
pub struct ServerService {
    pub(in crate::services) live: Arc<LiveServers>,
    pub(in crate::services) opener: ConnectionOpener,
    pub(in crate::services) audit: Audit,
    pub(in crate::services) events: Arc<EventBus>,
    pub(in crate::services) logins: Logins,
    pub(in crate::services) settings: Arc<Settings>,
    pub(in crate::services) background: Background,
    pub(in crate::services) monitor: Arc<Monitor>,
    /// Wakes the classification of tools.
    pub(in crate::services) classify: Arc<Notify>,
    /// One change of a server at a time.
    pub(in crate::services) changing: Semaphore,
}
