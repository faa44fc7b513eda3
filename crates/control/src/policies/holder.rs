//! `PolicyHolder`: the policies of all files and of the store as an immutable snapshot, and a version that changes
//! with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use sha2::{Digest as _, Sha256};
use trunkline_gateway::{Fleet, PolicyGrant as _};
use trunkline_policy::{Action, Hints, Policies, PolicyCaller, PolicyFault, PolicySource};

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
    sources: Mutex<PolicySources>,
    /// A leaf lock, held for a clone.
    current: RwLock<Arc<Policies>>,
    version: AtomicU64,
    /// Were there ever any? Then callers keep what narrows their view, also when the last policy has gone: their
    /// sessions go on.
    // Relaxed where it is used: it only becomes true, before the version changes by which callers
    // look again.
    has_had: AtomicBool,
    pub(super) facts: ToolFacts,
    /// By their identity. A leaf lock.
    callers: Mutex<HashMap<String, Arc<PolicyRules>>>,
    /// Requests that policies have refused.
    // Relaxed where it is used: a sum that nothing else is ordered by.
    refused: AtomicU64,
}

/// The texts that the policies are made of.
#[derive(Debug, Default)]
struct PolicySources {
    files: Vec<PolicySource>,
    /// Those that are in force.
    stored: Vec<PolicySource>,
    /// Newer ones that cannot be used beside the files: they are tried again with the next files.
    refused: Option<Vec<PolicySource>>,
    /// What is wrong with the stored ones: then they are not in force.
    faults: Vec<PolicyFault>,
}

impl PolicyHolder {
    pub fn new(groups: GroupsClaim) -> Arc<Self> {
        // Until there is a text, nothing is refused.
        let current = RwLock::new(Arc::new(Policies::none()));
        Arc::new(Self { groups, current, ..Self::default() })
    }

    /// These are the files from now on; or everything is as before, and what is wrong.
    pub fn set_files(&self, files: Vec<PolicySource>) -> Result<(), Vec<PolicyFault>> {
        let mut held = self.sources.lock();
        if held.files == files {
            return Ok(());
        }
        match held.refused.take().map(|newest| (joined(&files, &newest), newest)) {
            Some((Ok(policies), newest)) => {
                self.replace(policies);
                held.stored = newest;
                held.faults.clear();
            }
            // The newest ones stay refused, and why is shown.
            Some((Err(faults), newest)) => {
                held.refused = Some(newest);
                self.replace(joined(&files, &held.stored)?);
                held.faults = faults;
            }
            None => {
                self.replace(joined(&files, &held.stored)?);
                held.faults.clear();
            }
        }
        held.files = files;
        drop(held);
        self.publish();
        Ok(())
    }

    /// These are the stored ones from now on; or those that were in force stay so, and what is wrong.
    pub fn set_stored(&self, stored: Vec<PolicySource>) -> Result<(), Vec<PolicyFault>> {
        let mut held = self.sources.lock();
        if held.stored == stored && held.faults.is_empty() {
            return Ok(());
        }
        let policies = match joined(&held.files, &stored) {
            Ok(policies) => policies,
            Err(faults) => {
                held.refused = Some(stored);
                held.faults.clone_from(&faults);
                return Err(faults);
            }
        };
        self.replace(policies);
        held.stored = stored;
        held.refused = None;
        held.faults.clear();
        drop(held);
        self.publish();
        Ok(())
    }

    /// What was stored cannot be used, and nothing is known that could be used instead: until it can, everybody but
    /// the admin token is refused everything.
    pub fn lock_down(&self, stored: Vec<PolicySource>) {
        // Under the lock: a file that changes now is read together with what is stored.
        let mut held = self.sources.lock();
        held.stored = stored;
        held.refused = None;
        let source = PolicySource { name: LOCKED.to_owned(), text: LOCKED_DOWN.to_owned() };
        // The text is a constant, and a test reads it; without it nothing is permitted either.
        self.replace(Policies::read(&[source]).unwrap_or_default());
        self.has_had.store(true, Ordering::Relaxed);
        drop(held);
        self.publish();
    }

    /// What would hold if these were stored, or what would be wrong. The last one is blamed for an id that two of them
    /// have.
    pub fn with_stored(&self, stored: &[PolicySource]) -> Result<Policies, Vec<PolicyFault>> {
        joined(&self.sources.lock().files, stored)
    }

    /// What the tool says about itself and which skills it has; `None`: no server offers it now.
    pub fn tool_facts(&self, server: &str, tool: &str) -> Option<(Hints, Vec<String>)> {
        self.facts.of(server).get(tool).map(|fact| (fact.hints, fact.skills.clone()))
    }

    /// Why the stored policies are not in force; empty: they are.
    pub fn faults(&self) -> Vec<PolicyFault> {
        self.sources.lock().faults.clone()
    }

    pub fn files(&self) -> Vec<PolicySource> {
        self.sources.lock().files.clone()
    }

    fn replace(&self, policies: Policies) {
        tell(&policies);
        // Relaxed: read with the version, which is published afterwards.
        self.has_had.fetch_or(!policies.is_empty(), Ordering::Relaxed);
        *self.current.write() = Arc::new(policies);
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

/// The source of the policy that holds while the stored ones cannot be used.
const LOCKED: &str = "store";
const LOCKED_DOWN: &str = "@id(\"stored-policies-broken\")\n\
    @reason(\"the stored policies cannot be used; the log says why\")\n\
    forbid(principal, action, resource);";

/// All together. Without any text there is nothing that refuses.
fn joined(files: &[PolicySource], stored: &[PolicySource]) -> Result<Policies, Vec<PolicyFault>> {
    match (files, stored) {
        ([], []) => Ok(Policies::none()),
        _ => Policies::read(&[files, stored].concat()),
    }
}

/// Says at a start or a change what nobody may do any more.
fn tell(policies: &Policies) {
    let count = policies.infos().count();
    let never: Vec<_> = policies.never_permitted().into_iter().map(Action::name).collect();
    match (count, never.as_slice()) {
        (0, []) => tracing::info!("there are no policies"),
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

#[cfg(test)]
mod tests {
    use trunkline_policy::CallerKind;

    use super::*;

    fn source(name: &str, text: &str) -> PolicySource {
        PolicySource { name: name.to_owned(), text: text.to_owned() }
    }

    fn is_out(holder: &Arc<PolicyHolder>) -> bool {
        let kind = CallerKind::Key { id: "k".to_owned(), name: "k".to_owned() };
        holder.rules(PolicyCaller { kind, role: "admin".to_owned() }).shuts_out()
    }

    const ALL: &str = "permit(principal, action, resource);";

    #[test]
    fn stored_policies_that_cannot_be_used_shut_everybody_out_until_they_can() {
        let holder = PolicyHolder::new(GroupsClaim::default());
        holder.set_files(vec![source("f", ALL)]).unwrap();
        let broken = vec![source("store:a", "permit(")];
        assert!(!holder.set_stored(broken.clone()).unwrap_err().is_empty());
        assert!(!is_out(&holder) && !holder.faults().is_empty(), "those from before hold");
        holder.lock_down(broken);
        assert!(is_out(&holder));
        assert!(holder.set_files(vec![source("f", "")]).is_err() && is_out(&holder));
        holder.set_stored(vec![source("store:a", ALL)]).unwrap();
        assert!(!is_out(&holder) && holder.faults().is_empty());
    }

    #[test]
    fn without_any_text_nothing_is_refused_and_with_an_empty_one_everything() {
        let holder = PolicyHolder::new(GroupsClaim::default());
        holder.set_stored(vec![source("store:a", ALL)]).unwrap();
        let kind = CallerKind::Anonymous;
        let rules = holder.rules(PolicyCaller { kind, role: "caller".to_owned() });
        let shows = || rules.shows(trunkline_gateway::PolicyTarget::Server("s"));
        assert!(shows());
        holder.set_stored(vec![source("store:a", "// nothing")]).unwrap();
        assert!(!shows());
        holder.set_stored(vec![]).unwrap();
        assert!(shows(), "nothing is stored any more");
    }

    #[test]
    fn stored_policies_that_were_refused_hold_as_soon_as_the_files_let_them() {
        let holder = PolicyHolder::new(GroupsClaim::default());
        let named = |text: &str| format!("@id(\"x\") {text}");
        holder.set_files(vec![source("f", &named(ALL))]).unwrap();
        holder
            .set_stored(vec![source(
                "store:old",
                "@id(\"old\") permit(principal, action, resource);",
            )])
            .unwrap();
        let newest = vec![source("store:a", &named("forbid(principal, action, resource);"))];
        assert!(holder.set_stored(newest).is_err() && !is_out(&holder));
        // Another file that is in the way, too: nothing is lost, and the reason stays.
        holder.set_files(vec![source("f", &format!("{} {ALL}", named(ALL)))]).unwrap();
        assert!(!is_out(&holder) && !holder.faults().is_empty());
        holder.set_files(vec![source("f", ALL)]).unwrap();
        assert!(is_out(&holder), "the newest ones hold");
        assert!(holder.faults().is_empty());
    }

    #[test]
    fn the_last_one_is_blamed_for_an_id_that_is_taken() {
        let holder = PolicyHolder::new(GroupsClaim::default());
        holder.set_files(vec![source("f", &format!("@id(\"x\") {ALL}"))]).unwrap();
        let faults =
            holder.with_stored(&[source("store:a", &format!("@id(\"x\") {ALL}"))]).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].source, "store:a");
        assert!(faults[0].what.contains("taken by a policy of f"), "{faults:?}");
        assert_eq!(holder.current().infos().count(), 1, "nothing has changed");
    }
}
