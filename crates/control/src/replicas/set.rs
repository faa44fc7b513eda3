//! `ReplicaSet`: this replica among the others. It says in the store that it is there, knows where the others are,
//! and keeps the keys current with which all of them seal.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use trunkline_gateway::{
    ReplicaAccess, ReplicaAnswer, ReplicaFault, ReplicaId, Replicas, Seal, SealKeys, SealedRequest,
    Waiting, shortened,
};
use trunkline_http::Url;
use trunkline_store::{ReplicaList, Store};

use super::call_keys::SharedKeys;
use super::sender::ReplicaSender;
use crate::secrets::{SEALS, Safe, SecretError};

/// How often a replica says that it is there.
const BEAT: Duration = Duration::from_secs(2);
/// How often the keys are looked at where there are no other replicas.
const LOOK: Duration = Duration::from_secs(60);
/// Without a word for so long a replica counts as gone. A paused one may be that long away and come back to its
/// sessions.
const ALIVE: Duration = Duration::from_secs(20);
/// Tasks that wait to be written down; beyond that other replicas do not find them.
const TASKS: usize = 10_000;
/// Tasks that are written down at a time.
const TASKS_AT_ONCE: usize = 256;
/// A task may have been made a moment ago at another replica: it is looked for so often.
const TASK_LOOKS: u32 = 4;
const TASK_LOOK_EVERY: Duration = Duration::from_millis(150);

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct ReplicaSet(Arc<SetState>);

#[derive(Debug)]
struct SetState {
    id: ReplicaId,
    /// Where the others reach this one; `None`: it has no others.
    address: Option<Url>,
    store: Store,
    safe: Arc<Safe>,
    seal: Arc<Seal>,
    sender: ReplicaSender,
    // A leaf lock, held for one look.
    known: RwLock<HashMap<ReplicaId, Url>>,
    /// As the seal has them. A leaf lock, held for one look.
    in_use: Mutex<SealKeys>,
    tasks: mpsc::Sender<String>,
    /// Taken by the task that writes them down.
    unwritten: Mutex<Option<mpsc::Receiver<String>>>,
    call_keys: SharedKeys,
}

impl ReplicaSet {
    /// Takes this process's place among the replicas. `None`: the store is sealed with another key.
    pub(crate) async fn join(
        store: &Store,
        safe: &Arc<Safe>,
        address: Option<Url>,
    ) -> Result<Option<Self>, SecretError> {
        if safe.is_locked() {
            return Ok(None);
        }
        let mut id = [0; 8];
        SystemRandom::new().fill(&mut id).map_err(|_| SecretError::NoRandom)?;
        let id = ReplicaId(u64::from_le_bytes(id));
        let list = store.replicas(alive()).await?;
        let (_, ring) = safe.seal_ring(store, list.now).await?;
        let in_use = ring.in_use(list.now);
        let seal = Seal::shared(id, &in_use).ok_or(SecretError::NoRandom)?;
        seal.set_clock(seconds(list.now));
        let (tasks, unwritten) = mpsc::channel(TASKS);
        let set = Self(Arc::new(SetState {
            id,
            address,
            store: store.clone(),
            safe: Arc::clone(safe),
            seal,
            sender: ReplicaSender::new(),
            known: RwLock::default(),
            in_use: Mutex::new(in_use),
            tasks,
            unwritten: Mutex::new(Some(unwritten)),
            call_keys: SharedKeys::new(store, safe, id.to_string()),
        }));
        // Before the first request: its session may be asked for at another replica at once.
        if let Err(error) = set.beat().await {
            tracing::warn!(%error, "other replicas do not know of this one yet");
        }
        Ok(Some(set))
    }

    /// What the data plane needs of it.
    pub fn access(&self) -> ReplicaAccess {
        let others = self.has_others().then(|| Arc::new(self.clone()) as _);
        let call_keys = Arc::new(self.call_keys());
        ReplicaAccess { seal: Arc::clone(&self.0.seal), others, call_keys }
    }

    pub(crate) fn call_keys(&self) -> SharedKeys {
        self.0.call_keys.clone()
    }

    /// Has it others?
    fn has_others(&self) -> bool {
        self.0.address.is_some()
    }

    /// Says that it is there, and keeps the keys current, until the end.
    pub(crate) async fn run(&self, end: CancellationToken) {
        let every = if self.has_others() { shortened(BEAT) } else { LOOK };
        let work = async {
            loop {
                sleep(every).await;
                if let Err(error) = self.beat().await {
                    tracing::debug!(%error, "this replica cannot say that it is there");
                }
            }
        };
        tokio::select! {
            () = async { tokio::join!(work, self.write_tasks()); } => {}
            () = end.cancelled() => {}
        }
        if self.has_others() {
            // An error: it is taken for gone a little later.
            drop(self.0.store.replica_leave(&self.0.id.to_string()).await);
        }
    }

    async fn beat(&self) -> Result<(), SecretError> {
        let state = &self.0;
        let list = match &state.address {
            Some(address) => {
                let (id, address) = (state.id.to_string(), address.to_string());
                state.store.replica_beat(&id, &address, alive()).await?
            }
            None => state.store.replicas(alive()).await?,
        };
        state.seal.set_clock(seconds(list.now));
        self.learn(&list);
        self.look_at_keys(list.now).await
    }

    fn learn(&self, list: &ReplicaList) {
        let read = list.replicas.iter().filter_map(|replica| {
            let id = u64::from_str_radix(&replica.id, 16).ok()?;
            Some((ReplicaId(id), Url::parse(&replica.address).ok()?))
        });
        *self.0.known.write() = read.collect();
    }

    /// Uses the keys as the store has them, and makes another when it is time.
    async fn look_at_keys(&self, now: i64) -> Result<(), SecretError> {
        let state = &self.0;
        let (stored, mut ring) = state.safe.seal_ring(&state.store, now).await?;
        if ring.is_due(now)
            && let Some(renewed) = ring.renewed(now)
        {
            let sealed = state.safe.sealed_ring(&renewed)?;
            // One of several replicas makes it; the others read it at their next look.
            if state.store.replace_setting(SEALS, stored, sealed).await? {
                ring = renewed;
            }
        }
        let in_use = ring.in_use(now);
        let mut known = state.in_use.lock();
        if *known != in_use {
            state.seal.set_keys(&in_use);
            *known = in_use;
        }
        Ok(())
    }

    /// Where a replica is, as was last heard or as the store says.
    async fn address_of(&self, id: ReplicaId) -> Result<Url, ReplicaFault> {
        let known = |set: &Self| set.0.known.read().get(&id).cloned();
        if let Some(address) = known(self) {
            return Ok(address);
        }
        // It may have started a moment ago.
        let list = self.0.store.replicas(alive()).await;
        let list = list.map_err(|error| ReplicaFault::Unreachable(error.to_string()))?;
        self.learn(&list);
        known(self).ok_or(ReplicaFault::Gone)
    }

    async fn write_tasks(&self) {
        let Some(mut unwritten) = self.0.unwritten.lock().take() else { return };
        let id = self.0.id.to_string();
        let mut some = Vec::new();
        while unwritten.recv_many(&mut some, TASKS_AT_ONCE).await > 0 {
            if let Err(error) = self.0.store.put_tasks(&id, std::mem::take(&mut some)).await {
                tracing::warn!(%error, "other replicas do not find some tasks that were made here");
            }
        }
    }
}

impl Replicas for ReplicaSet {
    fn send(
        &self,
        to: ReplicaId,
        request: SealedRequest,
    ) -> Waiting<Result<ReplicaAnswer, ReplicaFault>> {
        let set = self.clone();
        Box::pin(async move {
            let address = set.address_of(to).await?;
            let sent = set.0.sender.send(&address, request).await;
            if sent.as_ref().is_err_and(|fault| *fault == ReplicaFault::Gone) {
                // Until it is heard of again.
                set.0.known.write().remove(&to);
            }
            sent
        })
    }

    fn is_replica(&self, address: IpAddr) -> bool {
        let known = self.0.known.read();
        known.values().any(|url| url.host().parse::<IpAddr>().is_ok_and(|host| host == address))
    }

    fn remember_task(&self, task: String) {
        if self.has_others() && self.0.tasks.try_send(task).is_err() {
            tracing::warn!(
                "too many tasks were made at once: other replicas do not find some of them"
            );
        }
    }

    fn holder_of_task(&self, task: String) -> Waiting<Option<ReplicaId>> {
        let set = self.clone();
        Box::pin(async move {
            for look in 0..TASK_LOOKS {
                if look > 0 {
                    sleep(TASK_LOOK_EVERY).await;
                }
                let found = set.0.store.replica_of_task(&task).await.ok().flatten();
                if let Some(found) = found {
                    let id = u64::from_str_radix(&found, 16).ok().map(ReplicaId);
                    return id.filter(|id| *id != set.0.id);
                }
            }
            None
        })
    }
}

/// `ALIVE` in milliseconds.
pub(super) fn alive() -> i64 {
    i64::try_from(shortened(ALIVE).as_millis()).unwrap_or(i64::MAX)
}

fn seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1_000).unwrap_or_default()
}
