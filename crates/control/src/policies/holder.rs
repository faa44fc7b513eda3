//! `PolicyHolder`: the policies of all files as an immutable snapshot, and a version that changes with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use sha2::{Digest as _, Sha256};
use trunkline_gateway::{Fleet, PolicyGrant as _};
use trunkline_policy::{Action, Policies, PolicyCaller, PolicyFault, PolicySource};

use super::caller::{GroupsClaim, caller_of};
use super::facts::{SkillsOf, ToolFacts};
use super::rules::PolicyRules;
use crate::access::{Credential, Principal, Rules};

/// Callers whose decisions are remembered, some kilobytes each; those of the least use go when there are more.
const MOST_CALLERS: usize = 4_096;

#[derive(Debug, Default)]
pub struct PolicyHolder {
    groups: GroupsClaim,
    /// Held while the policies are read and replaced: two changes at once must not mix.
    files: Mutex<Vec<PolicySource>>,
    /// A leaf lock, held for a clone.
    current: RwLock<Arc<Policies>>,
    version: AtomicU64,
    /// Were there ever any? Then callers keep what narrows their view, also when the last policy has gone: their
    /// sessions go on.
    has_had: AtomicBool,
    pub(super) facts: ToolFacts,
    /// By their identity. A leaf lock.
    callers: Mutex<HashMap<String, Arc<PolicyRules>>>,
    /// Requests that policies have refused.
    refused: AtomicU64,
}

impl PolicyHolder {
    pub fn new(groups: GroupsClaim) -> Arc<Self> {
        Arc::new(Self { groups, ..Self::default() })
    }

    /// These are the files from now on; or everything is as before, and what is wrong.
    pub fn set_files(&self, files: Vec<PolicySource>) -> Result<(), Vec<PolicyFault>> {
        let mut held = self.files.lock();
        if *held == files {
            return Ok(());
        }
        let policies = Policies::read(&files)?;
        tell(&policies);
        // Relaxed: read with the version, which is published below.
        self.has_had.fetch_or(!policies.is_empty(), Ordering::Relaxed);
        *self.current.write() = Arc::new(policies);
        *held = files;
        drop(held);
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        // After the policies were replaced: a decision at the new version must see them.
        self.version.fetch_add(1, Ordering::AcqRel);
        self.callers.lock().clear();
        if let Some(fleet) = self.facts.fleet() {
            fleet.policies_changed();
        }
    }

    /// The data plane, of which tools are asked for their annotations.
    pub fn attach(&self, fleet: Fleet) {
        if self.facts.attach(fleet) && self.is_active() {
            self.publish();
        }
    }

    /// How the skills of a tool are found.
    pub fn set_skills(&self, skills: SkillsOf) {
        self.facts.set_skills(skills);
    }

    /// Skills of tools have changed.
    pub fn skills_changed(&self) {
        self.facts.forget();
        if self.is_active()
            && let Some(fleet) = self.facts.fleet()
        {
            fleet.policies_changed();
        }
    }

    pub fn current(&self) -> Arc<Policies> {
        Arc::clone(&self.current.read())
    }

    /// Changes with every change of the policies.
    pub fn version(&self) -> u64 {
        // Pairs with `publish`: a reader of the new version finds the policies that made it.
        self.version.load(Ordering::Acquire)
    }

    /// Is there a policy, or was there one?
    pub fn is_active(&self) -> bool {
        self.has_had.load(Ordering::Relaxed)
    }

    pub fn groups_claim(&self) -> &GroupsClaim {
        &self.groups
    }

    pub fn count_refused(&self) {
        // Relaxed: a sum that nothing else is ordered by.
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// What policies mean for this principal; `None`: there are none.
    pub fn rules_of(self: &Arc<Self>, principal: &Principal) -> Option<Rules> {
        self.is_active().then(|| Rules(self.rules(caller_of(principal, &self.groups))))
    }

    /// Is everything forbidden to it? Whoever runs this is never shut out: somebody has to mend policies.
    pub fn shuts_out(self: &Arc<Self>, principal: &Principal) -> bool {
        let is_admin = *principal.credential() == Credential::AdminToken;
        let is_out = || self.rules(caller_of(principal, &self.groups)).shuts_out();
        self.is_active() && !is_admin && is_out()
    }

    pub fn rules(self: &Arc<Self>, caller: PolicyCaller) -> Arc<PolicyRules> {
        let identity = identity(&caller);
        let mut callers = self.callers.lock();
        if let Some(known) = callers.get(&identity) {
            return Arc::clone(known);
        }
        if callers.len() >= MOST_CALLERS {
            // Those that no session and no request holds.
            callers.retain(|_, rules| Arc::strong_count(rules) > 1);
        }
        let rules = Arc::new(PolicyRules::new(Arc::clone(self), caller, identity.clone()));
        if callers.len() < MOST_CALLERS {
            callers.insert(identity, Arc::clone(&rules));
        }
        rules
    }
}

/// Says at a start or a change what nobody may do any more.
fn tell(policies: &Policies) {
    let count = policies.infos().count();
    let never: Vec<_> = policies.never_permitted().into_iter().map(Action::name).collect();
    match (count, never.as_slice()) {
        (0, _) => tracing::info!("there are no policies"),
        (_, []) => tracing::info!("{count} policies hold"),
        (_, never) => tracing::warn!(
            "{count} policies hold, and none of them permits anybody to {}: what no policy permits is refused \
             (`permit(principal, action, resource);` permits what nothing forbids)",
            never.join(", ")
        ),
    }
}

fn identity(caller: &PolicyCaller) -> String {
    let sum = Sha256::digest(format!("{caller:?}"));
    hex::encode(sum)
}
