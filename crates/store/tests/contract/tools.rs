//! Tools: a server's list replaces the one before, in one step.

use trunkline_store::{Change, NewTool, Store, StoreError, ToolRecord};

use crate::on_both;
use crate::place::{Place, a_server};

on_both! { tools:
    a_list_replaces_the_one_before,
    a_list_for_a_server_that_is_gone_is_refused,
    twenty_thousand_tools_are_kept_and_paged,
    lists_of_one_server_at_the_same_time_do_not_mix,
}

fn tool(name: &str, definition: &str) -> NewTool {
    NewTool {
        original_name: name.to_owned(),
        definition: definition.to_owned(),
        definition_hash: format!("hash of {definition}"),
    }
}

async fn with_servers(place: &Place, ids: &[&str]) -> Store {
    let store = place.open().await;
    for id in ids {
        store.commit(vec![Change::InsertServer(a_server(id))], vec![]).await.unwrap();
    }
    store
}

type Short<'a> = (&'a str, &'a str, i64, i64, bool);

fn short(tools: &[ToolRecord]) -> Vec<Short<'_>> {
    let short = |tool: &'_ ToolRecord| (tool.first_seen, tool.last_seen, tool.available);
    let names = tools.iter().map(|tool| (tool.original_name.as_str(), tool.definition.as_str()));
    let rest = tools.iter().map(short);
    names
        .zip(rest)
        .map(|((name, text), (first, last, there))| (name, text, first, last, there))
        .collect()
}

async fn a_list_replaces_the_one_before(place: &Place) {
    let store = with_servers(place, &["s", "other"]).await;
    let list = vec![tool("a", "{}"), tool("b", r#"{"x": 1.0}"#), tool("c", "{}")];
    store.replace_tools("s", list.clone(), 10).await.unwrap();
    store.replace_tools("other", list, 10).await.unwrap();
    store.mark_tools_unavailable("s").await.unwrap();
    let found = store.tools_of("s", "", 10).await.unwrap();
    assert_eq!(
        short(&found),
        [
            ("a", "{}", 10, 10, false),
            ("b", r#"{"x": 1.0}"#, 10, 10, false),
            ("c", "{}", 10, 10, false)
        ]
    );
    let list = vec![tool("d", "{}"), tool("b", r#"{"x": 2}"#), tool("a", "{}"), tool("a", "[]")];
    store.replace_tools("s", list, 20).await.unwrap();
    let found = store.tools_of("s", "", 10).await.unwrap();
    assert_eq!(
        short(&found),
        [("a", "{}", 10, 20, true), ("b", r#"{"x": 2}"#, 10, 20, true), ("d", "{}", 20, 20, true)]
    );
    assert_eq!(store.tools_of("other", "", 10).await.unwrap().len(), 3);
    store.replace_tools("s", vec![], 30).await.unwrap();
    assert_eq!(store.tools_of("s", "", 10).await.unwrap(), []);
    let delete = Change::DeleteServer { id: "other".to_owned(), expected: None };
    store.commit(vec![delete], vec![]).await.unwrap();
    assert_eq!(store.tools(("", ""), 10).await.unwrap(), []);
}

async fn a_list_for_a_server_that_is_gone_is_refused(place: &Place) {
    let store = place.open().await;
    let outcome = store.replace_tools("nobody", vec![tool("a", "{}")], 1).await;
    assert_eq!(outcome, Err(StoreError::NotFound));
}

async fn twenty_thousand_tools_are_kept_and_paged(place: &Place) {
    let ids: Vec<String> = (0..20).map(|at| format!("s{at:02}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let store = with_servers(place, &ids).await;
    let schema = format!(r#"{{"inputSchema":{{"description":"{}"}}}}"#, "x".repeat(400));
    for id in &ids {
        let list = (0..1_000).map(|at| tool(&format!("tool_{at:04}"), &schema)).collect();
        store.replace_tools(id, list, 1).await.unwrap();
    }
    let (mut count, mut after) = (0, (String::new(), String::new()));
    loop {
        let page = store.tools((&after.0, &after.1), 1_000).await.unwrap();
        let Some(last) = page.last() else { break };
        assert!(page.iter().all(|tool| tool.definition == schema && tool.available));
        assert!((page[0].server_id.clone(), page[0].original_name.clone()) > after);
        after = (last.server_id.clone(), last.original_name.clone());
        count += page.len();
    }
    assert_eq!(count, 20_000);
}

async fn lists_of_one_server_at_the_same_time_do_not_mix(place: &Place) {
    let store = with_servers(place, &["s"]).await;
    let other = place.open().await;
    for round in 0..10 {
        let list = |from: &str| (0..50).map(|at| tool(&format!("{from}{at}"), "{}")).collect();
        let (one, two) = tokio::join!(
            store.replace_tools("s", list("a"), round),
            other.replace_tools("s", list("b"), round)
        );
        one.unwrap();
        two.unwrap();
        let found = store.tools_of("s", "", 1_000).await.unwrap();
        let first = found[0].original_name.as_bytes()[0];
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|tool| tool.original_name.as_bytes()[0] == first));
    }
}
