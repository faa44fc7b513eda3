//! Who is signed in: found again by another process, for a while, and not after signing out.

use trunkline_store::{WebSession, WebSessionEnds};

use crate::on_both;
use crate::place::Place;

on_both! { web_sessions:
    a_session_is_found_until_it_ends,
    those_that_are_over_are_swept,
    of_too_many_the_idlest_go,
    whoever_has_the_most_loses_the_idlest,
}

const NOT_YET: WebSessionEnds = WebSessionEnds { began_before: 0, used_before: 0 };

fn session(id: &str, began_at: i64, used_at: i64) -> WebSession {
    let (id, credential) = (id.to_owned(), "admin-token".to_owned());
    WebSession { id, credential, detail: "{}".to_owned(), began_at, used_at }
}

async fn a_session_is_found_until_it_ends(place: &Place) {
    let (one, other) = (place.open().await, place.open().await);
    one.put_web_session(session("a", 10, 10), NOT_YET).await.unwrap();
    let found = |ends| other.web_session("a", ends);
    assert_eq!(found(NOT_YET).await.unwrap(), Some(session("a", 10, 10)));
    assert_eq!(other.web_session("b", NOT_YET).await.unwrap(), None);
    one.touch_web_session("a", 30).await.unwrap();
    one.touch_web_session("a", 20).await.unwrap();
    let idle = |used_before| WebSessionEnds { began_before: 0, used_before };
    assert_eq!(found(idle(29)).await.unwrap(), Some(session("a", 10, 30)), "the latest counts");
    assert_eq!(found(idle(30)).await.unwrap(), None);
    let old = WebSessionEnds { began_before: 10, used_before: 0 };
    assert_eq!(found(old).await.unwrap(), None);
    one.end_web_session("a").await.unwrap();
    assert_eq!(found(NOT_YET).await.unwrap(), None);
}

async fn those_that_are_over_are_swept(place: &Place) {
    let store = place.open().await;
    store.put_web_session(session("old", 1, 1), NOT_YET).await.unwrap();
    let idle = WebSessionEnds { began_before: 0, used_before: 1 };
    store.put_web_session(session("new", 9, 9), idle).await.unwrap();
    assert_eq!(store.web_session("old", NOT_YET).await.unwrap(), None);
    assert_eq!(store.web_session("new", NOT_YET).await.unwrap(), Some(session("new", 9, 9)));
}

async fn whoever_has_the_most_loses_the_idlest(place: &Place) {
    let store = place.open().await;
    let mut rows: Vec<String> = (0..1_022)
        .map(|number| format!("('n{number}', 'key', '{{}}', 1, {})", 100 + number))
        .collect();
    // Idle for longer than all of those.
    rows.extend(["a", "b"].map(|id| format!("('{id}', 'admin', '{{}}', 1, 1)")));
    let columns = "id, credential, detail, began_at, used_at";
    let sql = format!("INSERT INTO web_sessions ({columns}) VALUES {}", rows.join(", "));
    place.tamper(&sql).await.unwrap();
    for id in ["new", "newer"] {
        let new = WebSession { credential: "key".to_owned(), ..session(id, 9_999, 9_999) };
        store.put_web_session(new, NOT_YET).await.unwrap();
    }
    for (id, is_there) in
        [("a", true), ("b", true), ("n0", false), ("n1", false), ("n2", true), ("newer", true)]
    {
        assert_eq!(store.web_session(id, NOT_YET).await.unwrap().is_some(), is_there, "{id}");
    }
}

async fn of_too_many_the_idlest_go(place: &Place) {
    let store = place.open().await;
    let rows: Vec<String> = (0..1_024)
        .map(|number| format!("('n{number}', 'token', '{{}}', 1, {})", 1 + number))
        .collect();
    let columns = "id, credential, detail, began_at, used_at";
    let sql = format!("INSERT INTO web_sessions ({columns}) VALUES {}", rows.join(", "));
    place.tamper(&sql).await.unwrap();
    for id in ["new", "newer"] {
        store.put_web_session(session(id, 9_999, 9_999), NOT_YET).await.unwrap();
    }
    for (id, is_there) in
        [("n0", false), ("n1", false), ("n2", true), ("n1023", true), ("new", true)]
    {
        assert_eq!(store.web_session(id, NOT_YET).await.unwrap().is_some(), is_there, "{id}");
    }
}
