//! Other replicas of this gateway, as the data plane sees them: each holds sessions, parked calls and tasks
//! that only it can go on with, and gets the requests about them from whoever they came to.

use std::fmt::{self, Debug};
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::call_keys::CallKeys;
use crate::era::{ReplicaId, Seal};

/// What a gateway has in common with its replicas.
#[derive(Clone, Debug)]
pub struct ReplicaAccess {
    /// Seals what clients carry, so that each of them opens it.
    pub seal: Arc<Seal>,
    /// Reaches the others, to which requests are passed on that are theirs; `None`: there are none.
    pub others: Option<Arc<dyn Replicas>>,
    /// Keeps idempotency keys for all of them.
    pub call_keys: Arc<dyn CallKeys>,
}

/// Reaches the other replicas. Nothing in it may wait but the futures that it returns.
pub trait Replicas: Debug + Send + Sync {
    /// Sends what was sealed for a replica: it opens nowhere else.
    fn send(
        &self,
        to: ReplicaId,
        request: SealedRequest,
    ) -> Waiting<Result<ReplicaAnswer, ReplicaFault>>;

    /// Is this the address of a replica? Its connections are those of many clients.
    fn is_replica(&self, address: IpAddr) -> bool;

    /// Notes that this replica has a task; `task` is the digest of its id and its owner.
    fn remember_task(&self, task: String);

    /// Another replica that has this task.
    fn holder_of_task(&self, task: String) -> Waiting<Option<ReplicaId>>;
}

pub type Waiting<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A request as it travels between replicas.
pub struct SealedRequest {
    /// Header fields that its receiver knows it by.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Sizes only: the rest is sealed.
impl Debug for SealedRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SealedRequest({} bytes)", self.body.len())
    }
}

/// The answer of a replica, as far as its head.
pub struct ReplicaAnswer {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Box<dyn ReplicaBody>,
}

impl Debug for ReplicaAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ReplicaAnswer({})", self.status)
    }
}

impl ReplicaAnswer {
    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| &**value)
    }
}

/// What follows the head. Dropping it closes the connection.
pub trait ReplicaBody: Send {
    /// The next piece; `None`: it is complete. Pending until there is one.
    fn next(&mut self) -> WaitingFor<'_, Option<Result<Bytes, String>>>;
}

pub type WaitingFor<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a replica has not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaFault {
    /// No such replica is there any more: nothing of the request ran.
    #[error("it has gone")]
    Gone,
    /// It could not be reached: nothing of the request ran.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke after the request had left: it may have run.
    #[error("the connection to it broke: {0}")]
    Broken(String),
}
