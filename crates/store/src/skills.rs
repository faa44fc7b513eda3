//! The store's skills, as the control plane sees them.

use crate::error::StoreError;
use crate::records::{SkillRecord, SuggestionRecord, ToolSkillsRecord, skill};
use crate::store::Store;

impl Store {
    /// What was changed of the skills that come with the program, by id.
    pub async fn skills(&self) -> Result<Vec<SkillRecord>, StoreError> {
        self.read(|session| Box::pin(async move { skill::all(session).await })).await
    }

    /// Other numbers mean that somebody has changed a skill, or said which a tool has.
    pub async fn skills_mark(&self) -> Result<[i64; 4], StoreError> {
        self.read(|session| Box::pin(async move { skill::mark(session).await })).await
    }

    /// The skills of a server's tools, by name.
    pub async fn tool_skills(&self, server_id: &str) -> Result<Vec<ToolSkillsRecord>, StoreError> {
        let server_id = server_id.to_owned();
        self.read(|session| Box::pin(async move { skill::of_server(session, &server_id).await }))
            .await
    }

    /// Those of any tool that were made of the same, and not by hand.
    pub async fn tool_skills_made_of(
        &self,
        fingerprint: &str,
    ) -> Result<Option<ToolSkillsRecord>, StoreError> {
        let fingerprint = fingerprint.to_owned();
        self.read(|session| {
            Box::pin(async move { skill::by_fingerprint(session, &fingerprint).await })
        })
        .await
    }

    /// What a person has said stays.
    pub async fn put_tool_skills(&self, records: Vec<ToolSkillsRecord>) -> Result<(), StoreError> {
        self.write(|session| Box::pin(async move { skill::put_of_tools(session, records).await }))
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

    pub async fn skill_suggestion(&self, id: &str) -> Result<SuggestionRecord, StoreError> {
        let id = id.to_owned();
        self.read(|session| Box::pin(async move { skill::suggestion(session, &id).await })).await
    }

    /// Says how many were new.
    pub async fn suggest_skills(&self, records: Vec<SuggestionRecord>) -> Result<u64, StoreError> {
        self.write(|session| Box::pin(async move { skill::suggest(session, records).await })).await
    }
}
