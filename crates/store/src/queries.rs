//! One method of the store for each query of `records`, each in a transaction of its own.

use std::time::Duration;

use crate::error::StoreError;
use crate::limits::PAGE;
use crate::records::{CallKey, CallKeyState, EndedCall, KeyClaimant, call_key};
use crate::records::{
    CredentialRecord, GrantRecord, HealthSample, KeyRecord, KnownListingRecord, NewTool,
};
use crate::records::{
    PendingLogin, PinsRecord, PolicySetRecord, ServerRecord, SkillRecord, SuggestionRecord,
    ToolRecord,
};
use crate::records::{ReplicaList, replica};
use crate::records::{
    ToolSkillsRecord, credential, grant, health, key, known_listing, lease, pending, pins, policy,
    server,
};
use crate::records::{WebSession, WebSessionEnds, setting, skill, tool, web_session};
use crate::store::Store;

/// `MODE METHOD[TEXTS](OTHER: ARGUMENTS) -> ANSWER = QUERY;`
///
/// A macro, since a future that borrows its session cannot be named as the answer of a closure:
/// each of these would be five lines of boxing around one call. Texts are borrowed from the caller
/// and made owned: `SQLite`'s thread goes on when the caller has stopped waiting.
macro_rules! queries {
    ($(
        $(#[$doc:meta])*
        $mode:ident $method:ident[$($text:ident),*]($($other:ident: $type:ty),*) -> $answer:ty
            = $query:path;
    )*) => {
        impl Store {$(
            $(#[$doc])*
            pub async fn $method(
                &self,
                $($text: &str,)*
                $($other: $type,)*
            ) -> Result<$answer, StoreError> {
                $(let $text = $text.to_owned();)*
                self.$mode(move |session| {
                    Box::pin(async move { $query(session, $(&$text,)* $($other,)*).await })
                })
                .await
            }
        )*}
    };
}

queries! {
    read server[id]() -> ServerRecord = server::by_id;
    read server_by_name[name]() -> ServerRecord = server::by_name;
    /// By name, those after this name; from the beginning if it is empty.
    read servers[after](limit: usize) -> Vec<ServerRecord> = server::list;

    read credential[owner, name]() -> CredentialRecord = credential::get;
    read credentials[owner]() -> Vec<CredentialRecord> = credential::list;
    /// Replaces what is sealed if it is still what `old` says; Stale otherwise.
    write reseal_credential[](old: CredentialRecord, sealed: Vec<u8>, key_version: i64) -> ()
        = credential::reseal;

    read grant[server_id, issuer, principal]() -> GrantRecord = grant::get;
    read grants[server_id]() -> Vec<GrantRecord> = grant::list;
    /// Those that are sealed with another key than this one.
    read grants_under_other_keys[](key_version: i64, limit: usize) -> Vec<GrantRecord>
        = grant::under_other_keys;

    write put_pending_login[](login: PendingLogin, now: i64) -> () = pending::put;
    /// Once, and only in time.
    write take_pending_login[id](now: i64) -> Option<PendingLogin> = pending::take;
    write forget_pending_logins[server_id]() -> () = pending::forget;

    write put_web_session[](session: WebSession, ends: WebSessionEnds) -> () = web_session::put;
    /// If it is not over.
    read web_session[id](ends: WebSessionEnds) -> Option<WebSession> = web_session::get;
    write touch_web_session[id](at: i64) -> () = web_session::touch;
    write end_web_session[id]() -> () = web_session::end;

    write end_lease[name, holder]() -> () = lease::end;

    /// The tools of this server are these, and all are available.
    write replace_tools[server_id](tools: Vec<NewTool>, at: i64) -> () = tool::replace;
    write mark_tools_unavailable[server_id]() -> () = tool::mark_unavailable;
    /// By name, those after this name.
    read tools_of[server_id, after](limit: usize) -> Vec<ToolRecord> = tool::of_server;

    /// Samples of servers that are gone are left out.
    write append_health[](samples: Vec<HealthSample>) -> () = health::append;
    /// Newest first.
    read health[server_id](limit: usize) -> Vec<HealthSample> = health::latest;
    /// Removes the samples from before this time, and says how many.
    write prune_health[](before: i64) -> u64 = health::prune;

    read key[id]() -> KeyRecord = key::by_id;
    read key_by_prefix[prefix]() -> KeyRecord = key::by_prefix;
    /// By prefix, those after this one.
    read keys[after](limit: usize) -> Vec<KeyRecord> = key::list;
    /// When these keys, by id, were last used.
    write touch_keys[](uses: Vec<(String, i64)>) -> () = key::touch;

    read pins[entry]() -> Option<PinsRecord> = pins::get;
    /// Of these entries, those that are there.
    read pins_of_entries[](entries: Vec<String>) -> Vec<PinsRecord> = pins::of_entries;
    /// Those in which something waits for a person, by server; the last first.
    read waiting_pins[]() -> Vec<PinsRecord> = pins::waiting;
    /// Another number means that somebody has decided something.
    read pins_mark[]() -> i64 = pins::mark;

    /// What servers listed last: of these entries, those that are there.
    read known_listings[](entries: Vec<String>) -> Vec<KnownListingRecord>
        = known_listing::of_entries;
    write put_known_listing[](record: KnownListingRecord) -> () = known_listing::put;
    /// Removes what was not written since this time, and says how many.
    write prune_known_listings[](before: i64) -> u64 = known_listing::prune;

    read policies[]() -> PolicySetRecord = policy::all;
    /// Another number means that somebody has changed a policy.
    read policies_revision[]() -> i64 = policy::revision;

    read setting[name]() -> Option<Vec<u8>> = setting::get;
    write put_setting[name](value: Vec<u8>) -> () = setting::put;
    /// Replaces the value if it is still the old one. False: it is not.
    write replace_setting[name](old: Vec<u8>, new: Vec<u8>) -> bool = setting::replace;
    write remove_setting[name]() -> () = setting::remove;
    /// Returns what is there afterwards: this value, or that of whoever was first.
    write put_setting_if_absent[name](value: Vec<u8>) -> Vec<u8> = setting::put_if_absent;

    /// This replica is there, and is reached at this address; those heard of within so many milliseconds.
    write replica_beat[id, address](within: i64) -> ReplicaList = replica::beat;
    read replicas[](within: i64) -> ReplicaList = replica::list;
    write replica_leave[id]() -> () = replica::leave;
    /// These tasks are with this replica.
    write put_tasks[replica](tasks: Vec<String>) -> () = replica::put_tasks;
    read replica_of_task[task]() -> Option<String> = replica::of_task;

    /// Takes an idempotency key for a call, or says what it stands for.
    write claim_call_key[](call: CallKey, by: KeyClaimant) -> CallKeyState = call_key::claim;
    /// How calls with a key ended.
    write settle_call_keys[](ended: Vec<EndedCall>) -> () = call_key::settle;
    /// Forgets keys older than so many milliseconds, and of answers beyond so many bytes the oldest.
    write prune_call_keys[](kept: i64, most_bytes: i64) -> () = call_key::prune;

    /// What was changed of the skills that come with the program, by id.
    read skills[]() -> Vec<SkillRecord> = skill::all;
    /// Other numbers mean that somebody has changed a skill, or said which a tool has.
    read skills_mark[]() -> [i64; 4] = skill::mark;
    /// The skills of a server's tools, by name.
    read tool_skills[server_id]() -> Vec<ToolSkillsRecord> = skill::of_server;
    /// The skills that the model gave to any tool with this fingerprint.
    read tool_skills_made_of[fingerprint]() -> Option<ToolSkillsRecord> = skill::by_fingerprint;
    /// What a person has said stays.
    write put_tool_skills[](records: Vec<ToolSkillsRecord>) -> () = skill::put_of_tools;
    read skill_suggestion[id]() -> SuggestionRecord = skill::suggestion;
    /// Says how many were new.
    write suggest_skills[](records: Vec<SuggestionRecord>) -> u64 = skill::suggest;
}

/// Those that translate their arguments.
impl Store {
    /// Every server, by name, read some at a time: one that is renamed meanwhile may be missed.
    pub async fn all_servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.servers(&after, PAGE).await?;
            let is_last = page.len() < PAGE;
            let Some(last) = page.last() else { return Ok(all) };
            after.clone_from(&last.name);
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Those that are sealed with another key than this one, by id, after this id.
    pub async fn credentials_under_other_keys(
        &self,
        key_version: i64,
        after: &str,
        limit: usize,
    ) -> Result<Vec<CredentialRecord>, StoreError> {
        let after = after.to_owned();
        self.read(move |session| {
            Box::pin(async move {
                credential::under_other_keys(session, key_version, &after, limit).await
            })
        })
        .await
    }

    /// The right to do something alone, for a while: it ends by itself, in case its holder dies. False
    /// while another holder has it.
    pub async fn take_lease(
        &self,
        name: &str,
        holder: &str,
        length: Duration,
    ) -> Result<bool, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        self.write(move |session| {
            Box::pin(async move { lease::take(session, &name, &holder, length).await })
        })
        .await
    }

    /// By server id and name, those after this tool of this server.
    pub async fn tools(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<ToolRecord>, StoreError> {
        let (server_id, name) = (after.0.to_owned(), after.1.to_owned());
        self.read(move |session| {
            Box::pin(async move { tool::all(session, (&server_id, &name), limit).await })
        })
        .await
    }

    /// By id, those after this one; of all states or of one.
    pub async fn skill_suggestions(
        &self,
        state: Option<&str>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SuggestionRecord>, StoreError> {
        let (state, after) = (state.map(str::to_owned), after.to_owned());
        self.read(move |session| {
            Box::pin(
                async move { skill::suggestions(session, state.as_deref(), &after, limit).await },
            )
        })
        .await
    }
}
