//! Skills: a person's word stays, a suggestion is decided on once, and a server takes its tools' along.

use trunkline_store::{
    BY_HAND, Change, PENDING, SkillRecord, StoreError, SuggestionRecord, ToolSkillsRecord,
};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { skills:
    skills_are_put_and_changed,
    a_persons_word_is_replaced_by_a_persons_only,
    skills_are_found_by_what_they_were_made_of,
    a_removed_server_takes_the_skills_of_its_tools_along,
    a_suggestion_is_made_once_and_decided_on_once,
}

fn of_tool(server: &str, name: &str, source: &str, skills: &str) -> ToolSkillsRecord {
    ToolSkillsRecord {
        server_id: server.to_owned(),
        original_name: name.to_owned(),
        fingerprint: format!("made of {name}"),
        skills: skills.to_owned(),
        source: source.to_owned(),
        updated_at: 7,
    }
}

async fn skills_are_put_and_changed(place: &Place) {
    let store = place.open().await;
    let empty = store.skills_mark().await.unwrap();
    let skill = |title: &str, removed| SkillRecord {
        id: "robots".to_owned(),
        title: title.to_owned(),
        keywords: "arm, gripper".to_owned(),
        removed,
        updated_at: 3,
    };
    store.commit(vec![Change::PutSkill(skill("Robots", false))], vec![]).await.unwrap();
    store.commit(vec![Change::PutSkill(skill("Robotics", true))], vec![]).await.unwrap();
    assert_eq!(store.skills().await.unwrap(), [skill("Robotics", true)]);
    let marked = store.skills_mark().await.unwrap();
    assert_ne!(marked, empty);
    store.put_tool_skills(vec![of_tool("s", "a", "llm", "[]")]).await.unwrap();
    assert_eq!(store.skills_mark().await.unwrap(), marked, "nobody has said anything");
    store.put_tool_skills(vec![of_tool("s", "b", BY_HAND, "[]")]).await.unwrap();
    assert_ne!(store.skills_mark().await.unwrap(), marked);
}

async fn a_persons_word_is_replaced_by_a_persons_only(place: &Place) {
    let store = place.open().await;
    let hand = of_tool("file:f", "a", BY_HAND, r#"["x"]"#);
    store.put_tool_skills(vec![hand.clone(), of_tool("file:f", "b", "head", "[]")]).await.unwrap();
    let later = ["a", "b"].map(|name| of_tool("file:f", name, "llm", r#"["y"]"#));
    store.put_tool_skills(later.to_vec()).await.unwrap();
    let found = store.tool_skills("file:f").await.unwrap();
    assert_eq!(found, [hand, later[1].clone()]);
    let other = of_tool("file:f", "a", BY_HAND, r#"["z"]"#);
    store.commit(vec![Change::PutToolSkills(other.clone())], vec![]).await.unwrap();
    assert_eq!(store.tool_skills("file:f").await.unwrap()[0], other);
    let gone = Change::DeleteToolSkills { server_id: "file:f".to_owned(), name: "a".to_owned() };
    store.commit(vec![gone], vec![]).await.unwrap();
    assert_eq!(store.tool_skills("file:f").await.unwrap(), [later[1].clone()]);
}

async fn skills_are_found_by_what_they_were_made_of(place: &Place) {
    let store = place.open().await;
    let (made, hand) = (of_tool("s", "a", "llm", "[]"), of_tool("s", "b", BY_HAND, "[]"));
    store.put_tool_skills(vec![made.clone(), hand]).await.unwrap();
    let found = |name: &'static str| {
        let store = store.clone();
        async move { store.tool_skills_made_of(&format!("made of {name}")).await.unwrap() }
    };
    assert_eq!(found("a").await, Some(made));
    assert_eq!(found("b").await, None, "a person has spoken of one tool");
    assert_eq!(found("c").await, None);
}

async fn a_removed_server_takes_the_skills_of_its_tools_along(place: &Place) {
    let store = place.open().await;
    for id in ["one", "two"] {
        store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await.unwrap();
        store.put_tool_skills(vec![of_tool(id, "a", BY_HAND, "[]")]).await.unwrap();
    }
    let gone = Change::DeleteServer { id: "one".to_owned(), expected: None };
    store.commit(vec![gone], vec![]).await.unwrap();
    assert_eq!(store.tool_skills("one").await.unwrap(), []);
    assert_eq!(store.tool_skills("two").await.unwrap().len(), 1);
}

async fn a_suggestion_is_made_once_and_decided_on_once(place: &Place) {
    let store = place.open().await;
    let suggestion = |id: &str, skill: &str| SuggestionRecord {
        id: id.to_owned(),
        skill: skill.to_owned(),
        title: "Robots".to_owned(),
        keywords: String::new(),
        reason: "moves an arm".to_owned(),
        server_id: "s".to_owned(),
        tool: "move".to_owned(),
        state: PENDING.to_owned(),
        created_at: 1,
        decided_at: None,
        decided_by: None,
    };
    assert_eq!(store.suggest_skills(vec![suggestion("1", "robots")]).await.unwrap(), 1);
    let again = vec![suggestion("2", "robots"), suggestion("3", "lasers")];
    assert_eq!(store.suggest_skills(again).await.unwrap(), 1);
    let decide = |id: &str| Change::DecideSuggestion {
        id: id.to_owned(),
        state: "approved".to_owned(),
        at: 9,
        by: "somebody".to_owned(),
    };
    store.commit(vec![decide("1")], vec![]).await.unwrap();
    let again = store.commit(vec![decide("1")], vec![]).await;
    assert_eq!(again, Err(StoreError::Stale));
    let missing = store.commit(vec![decide("7")], vec![]).await;
    assert_eq!(missing, Err(StoreError::NotFound));
    let pending = store.skill_suggestions(Some(PENDING), "", 9).await.unwrap();
    assert_eq!(pending, [suggestion("3", "lasers")]);
    let all = store.skill_suggestions(None, "", 9).await.unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(store.skill_suggestion("1").await.unwrap().decided_by.as_deref(), Some("somebody"));
}
