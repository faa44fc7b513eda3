//! The audit log: one chain, whoever writes; nothing in it is changed unnoticed.

use trunkline_store::{
    AuditFilter, AuditKey, AuditRecord, AuditRetention, AuditVerdict, NewAudit, Store, StoreError,
    StoreOptions, TextMatch,
};

use crate::on_both;
use crate::place::Place;

on_both! { audit:
    records_are_read_as_they_were_written_newest_first,
    records_are_found_by_what_they_say,
    records_are_found_by_a_part_of_what_is_shown_of_them,
    the_database_itself_refuses_changes,
    every_change_behind_its_back_is_found,
    a_log_whose_end_was_forged_is_not_continued,
    the_oldest_records_go_and_the_rest_is_proven,
    so_many_of_the_newest_records_stay,
    what_retention_leaves_nobody_removes,
    a_new_key_authenticates_the_beginning_too,
    who_removes_records_and_has_no_key_is_found_out,
    several_stores_write_one_chain,
    each_filter_reads_an_index,
    a_mark_stands_there_if_and_only_if_the_records_do,
}

fn call(at: i64, tool: &str) -> NewAudit {
    NewAudit {
        at,
        principal: "key:1".to_owned(),
        action: "tool.call".to_owned(),
        tool: Some(tool.to_owned()),
        outcome: "ok".to_owned(),
        ..NewAudit::default()
    }
}

async fn records_are_read_as_they_were_written_newest_first(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.audit_head().await.unwrap(), None);
    assert_eq!(store.append_audit(vec![]).await.unwrap(), 0);
    let full = NewAudit {
        credential_id: Some("c".to_owned()),
        address: Some("::1".to_owned()),
        server_id: Some("s".to_owned()),
        server_name: Some("名".to_owned()),
        argument_hash: Some("00ff".to_owned()),
        detail: Some("said: \"no\"\n".to_owned()),
        duration_us: Some(-1),
        request_id: Some(String::new()),
        count: Some(i64::MAX),
        ..call(i64::MIN, "t")
    };
    let all: Vec<NewAudit> = (0..700).map(|at| call(at, "x")).chain([full.clone()]).collect();
    assert_eq!(store.append_audit(all).await.unwrap(), 701);
    assert_eq!(store.append_audit(vec![call(5, "a\0b")]).await.unwrap(), 702);
    let found = store.audit(AuditFilter::default(), 3).await.unwrap();
    let what: Vec<_> = found.iter().map(|record| (record.seq, record.what.clone())).collect();
    assert_eq!(what, [(702, call(5, "a\u{fffd}b")), (701, full), (700, call(699, "x"))]);
    assert_eq!(found[0].prev_hash, found[1].hash);
    let last_hash = found[0].hash;
    let verdict = store.verify_audit().await.unwrap();
    assert_eq!(verdict, AuditVerdict::Verified { first: 1, records: 702, last_hash });
    let head = store.audit_head().await.unwrap().unwrap();
    assert_eq!((head.seq, head.hash), (702, last_hash));
}

async fn records_are_found_by_what_they_say(place: &Place) {
    let store = place.open().await;
    let text = |text: &str| Some(text.to_owned());
    let records = vec![
        NewAudit { server_id: text("s1"), server_name: text("one"), ..call(10, "a") },
        NewAudit { server_id: text("s2"), server_name: text("two"), ..call(20, "a") },
        NewAudit { outcome: "error".to_owned(), ..call(30, "b") },
        NewAudit { action: "server.create".to_owned(), tool: None, ..call(40, "") },
        NewAudit { principal: "admin".to_owned(), ..call(50, "b") },
    ];
    store.append_audit(records).await.unwrap();
    let any = AuditFilter::default;
    let table: &[(AuditFilter, usize, &[i64])] = &[
        (any(), 9, &[5, 4, 3, 2, 1]),
        (any(), 2, &[5, 4]),
        (AuditFilter { until_seq: Some(3), ..any() }, 2, &[3, 2]),
        (AuditFilter { since_seq: Some(4), ..any() }, 9, &[5, 4]),
        (AuditFilter { since: Some(20), until: Some(40), ..any() }, 9, &[3, 2]),
        (AuditFilter { server: text("s1"), ..any() }, 9, &[1]),
        (AuditFilter { server: text("two"), ..any() }, 9, &[2]),
        (AuditFilter { tool: text("b"), ..any() }, 9, &[5, 3]),
        (AuditFilter { action: text("server.create"), ..any() }, 9, &[4]),
        (AuditFilter { outcome: text("error"), ..any() }, 9, &[3]),
        (AuditFilter { principal: text("admin"), tool: text("b"), ..any() }, 9, &[5]),
        (AuditFilter { principal: text("' OR 1=1 --"), ..any() }, 9, &[]),
    ];
    for (filter, limit, expected) in table {
        let found = store.audit(filter.clone(), *limit).await.unwrap();
        let found: Vec<i64> = found.iter().map(|record: &AuditRecord| record.seq).collect();
        assert_eq!(found, *expected, "{filter:?}");
    }
}

async fn records_are_found_by_a_part_of_what_is_shown_of_them(place: &Place) {
    let store = place.open().await;
    let text = |text: &str| Some(text.to_owned());
    let records = vec![
        NewAudit {
            server_name: text("Files"),
            action: "call-tool".to_owned(),
            principal: "Grace".to_owned(),
            ..call(10, "read_text_file")
        },
        NewAudit {
            server_name: text("files"),
            action: "call-tool".to_owned(),
            ..call(20, "readXtext")
        },
        NewAudit { action: "register-server".to_owned(), tool: None, ..call(30, "") },
        NewAudit { server_name: None, ..call(40, r"50%_\") },
    ];
    store.append_audit(records).await.unwrap();
    let part = || AuditFilter { match_mode: TextMatch::Contains, ..AuditFilter::default() };
    let table: &[(AuditFilter, &[i64])] = &[
        (AuditFilter { tool: text("Files.read_text_file"), ..part() }, &[1]),
        (AuditFilter { tool: text("files.READ"), ..part() }, &[2, 1]),
        (AuditFilter { tool: text("read_text"), ..part() }, &[1]),
        (AuditFilter { tool: text("0%_"), ..part() }, &[4]),
        (AuditFilter { tool: text(r"%_\"), ..part() }, &[4]),
        (AuditFilter { tool: text("."), ..part() }, &[4, 2, 1]),
        (AuditFilter { action: text("call tool"), ..part() }, &[2, 1]),
        (AuditFilter { action: text("Call-Tool"), ..part() }, &[2, 1]),
        (AuditFilter { action: text("server"), ..part() }, &[3]),
        (AuditFilter { principal: text("grac"), ..part() }, &[1]),
        (AuditFilter { principal: text("' OR 1=1 --"), ..part() }, &[]),
        (AuditFilter { tool: text("files.read"), principal: text("G"), ..part() }, &[1]),
    ];
    for (filter, expected) in table {
        let found = store.audit(filter.clone(), 9).await.unwrap();
        let found: Vec<i64> = found.iter().map(|record: &AuditRecord| record.seq).collect();
        assert_eq!(found, *expected, "{filter:?}");
    }
}

async fn the_database_itself_refuses_changes(place: &Place) {
    let store = place.open().await;
    store.append_audit(vec![call(1, "a"), call(2, "b")]).await.unwrap();
    for sql in ["UPDATE audit SET tool = 'x' WHERE seq = 1", "DELETE FROM audit WHERE seq = 2"] {
        let refused = place.tamper(sql).await.unwrap_err();
        assert!(refused.contains("records of the audit are never"), "{sql}: {refused}");
    }
    assert!(matches!(
        store.verify_audit().await.unwrap(),
        AuditVerdict::Verified { records: 2, .. }
    ));
}

async fn every_change_behind_its_back_is_found(place: &Place) {
    let table = [
        ("UPDATE audit SET tool = 'x' WHERE seq = 3", 3, "it was changed"),
        ("UPDATE audit SET outcome = 'denied' WHERE seq = 1", 1, "it was changed"),
        ("UPDATE audit SET hash = prev_hash WHERE seq = 2", 2, "it was changed"),
        ("UPDATE audit SET prev_hash = hash WHERE seq = 2", 2, "does not follow"),
        (
            "UPDATE audit SET hash = substr(hash, 2) WHERE seq = 1234",
            1234,
            "a hash has not 32 bytes",
        ),
        ("DELETE FROM audit WHERE seq = 2", 2, "it is missing"),
        ("DELETE FROM audit WHERE seq = 1", 1, "it is missing"),
        ("DELETE FROM audit WHERE seq > 3", 4, "it is missing: the log had 1500 records"),
        ("DELETE FROM audit", 1, "it is missing: the log had 1500 records"),
        ("UPDATE audit SET at = at + 1 WHERE seq = 1500", 1500, "it was changed"),
        (
            "INSERT INTO audit (seq, at, principal, action, outcome, prev_hash, hash) \
             SELECT 1501, at, principal, action, outcome, hash, hash FROM audit WHERE seq = 1500",
            1501,
            "it was changed",
        ),
        ("DELETE FROM settings WHERE name = 'audit.head'", 1, "it was added"),
    ];
    let store = place.open().await;
    let calls: Vec<_> = (1..=1_500).map(|at| call(at, "a")).collect();
    store.append_audit(calls).await.unwrap();
    place
        .tamper("CREATE TABLE a AS SELECT * FROM audit; CREATE TABLE s AS SELECT * FROM settings")
        .await
        .unwrap();
    for (sql, expected, reason) in table {
        place.tamper_with_audit(&format!("{sql};")).await;
        match store.verify_audit().await.unwrap() {
            AuditVerdict::Broken { seq, why } => {
                assert_eq!(seq, expected, "{sql}: {why}");
                assert!(why.contains(reason), "{sql}: {why}");
            }
            whole => panic!("{sql}: {whole:?}"),
        }
        restore(place).await;
    }
    assert!(matches!(
        store.verify_audit().await.unwrap(),
        AuditVerdict::Verified { records: 1500, .. }
    ));
}

/// Puts the log back from the copy, with what guards it.
async fn restore(place: &Place) {
    let guards =
        "CREATE TRIGGER IF NOT EXISTS audit_keeps BEFORE UPDATE ON audit BEGIN SELECT 1; END;
        CREATE TRIGGER IF NOT EXISTS audit_stays BEFORE DELETE ON audit BEGIN SELECT 1; END;";
    let guards = if place.is_file() { guards } else { "" };
    place.tamper(guards).await.unwrap();
    let sql = "DELETE FROM audit; INSERT INTO audit SELECT * FROM a; \
               DELETE FROM settings; INSERT INTO settings SELECT * FROM s;";
    place.tamper_with_audit(sql).await;
    place.tamper(guards).await.unwrap();
}

async fn a_log_whose_end_was_forged_is_not_continued(place: &Place) {
    let store = place.open().await;
    store.append_audit(vec![call(1, "a"), call(2, "b")]).await.unwrap();
    for keys in [vec![], vec![AuditKey::new([1; 32])]] {
        let other = StoreOptions { audit_keys: keys };
        let stranger = Store::open(&place.url, other).await.unwrap();
        let outcome = stranger.append_audit(vec![call(3, "c")]).await;
        assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{outcome:?}");
        let verdict = stranger.verify_audit().await.unwrap();
        assert!(matches!(verdict, AuditVerdict::Broken { seq: 2, .. }), "{verdict:?}");
    }
    // After a rotation the older key is recognised, and the new one is used from then on.
    let [new, old] = [1, 9].map(|byte| AuditKey::new([byte; 32]));
    let rotated = StoreOptions { audit_keys: vec![new.clone(), old] };
    let rotated = Store::open(&place.url, rotated).await.unwrap();
    assert_eq!(rotated.append_audit(vec![call(3, "c")]).await.unwrap(), 3);
    let renewed = Store::open(&place.url, StoreOptions { audit_keys: vec![new] }).await.unwrap();
    let verdict = renewed.verify_audit().await.unwrap();
    assert!(matches!(verdict, AuditVerdict::Verified { records: 3, .. }), "{verdict:?}");
}

/// The first record that is left, and how many there are.
async fn verified(store: &Store) -> (i64, i64) {
    match store.verify_audit().await.unwrap() {
        AuditVerdict::Verified { first, records, .. } => (first, records),
        broken @ AuditVerdict::Broken { .. } => panic!("{broken:?}"),
    }
}

async fn the_oldest_records_go_and_the_rest_is_proven(place: &Place) {
    let store = place.open().await;
    // The clock has jumped back: what follows on a newer record stays with it.
    let times = [1, 2, 50, 3, 4, 100, 101, 102];
    store.append_audit(times.map(|at| call(at, "a")).to_vec()).await.unwrap();
    let by_time = |before| AuditRetention { before: Some(before), ..AuditRetention::default() };
    assert_eq!(store.prune_audit(by_time(1)).await.unwrap(), None);
    let pruned = store.prune_audit(by_time(10)).await.unwrap().unwrap();
    assert_eq!((pruned.removed, pruned.last.seq, pruned.is_partial), (2, 2, false));
    assert_eq!(store.audit_checkpoint().await.unwrap(), Some(pruned.last));
    assert_eq!(verified(&store).await, (3, 6));
    // The newest stays, whatever its age, and the chain goes on.
    assert_eq!(store.prune_audit(by_time(1_000)).await.unwrap().unwrap().removed, 5);
    store.append_audit(vec![call(200, "b")]).await.unwrap();
    assert_eq!(verified(&store).await, (8, 2));
}

async fn so_many_of_the_newest_records_stay(place: &Place) {
    let store = place.open().await;
    store.append_audit((1..=6).map(|at| call(at, "a")).collect()).await.unwrap();
    let by_number = AuditRetention { records: Some(3), ..AuditRetention::default() };
    assert_eq!(store.prunable_audit(by_number).await.unwrap(), Some((1, 3)));
    let some = AuditRetention { upto: Some(2), ..by_number };
    assert_eq!(store.prunable_audit(some).await.unwrap(), Some((1, 2)));
    assert_eq!(store.prune_audit(some).await.unwrap().unwrap().last.seq, 2);
    assert_eq!(store.prune_audit(by_number).await.unwrap().unwrap().removed, 1);
    assert_eq!(store.prunable_audit(by_number).await.unwrap(), None);
    assert_eq!(store.prune_audit(by_number).await.unwrap(), None);
    assert_eq!(verified(&store).await, (4, 3));
}

async fn what_retention_leaves_nobody_removes(place: &Place) {
    let store = place.open().await;
    store.append_audit((1..=9).map(|at| call(at, "a")).collect()).await.unwrap();
    let by_number = AuditRetention { records: Some(2), ..AuditRetention::default() };
    assert_eq!(store.prune_audit(by_number).await.unwrap().unwrap().removed, 7);
    for sql in ["DELETE FROM audit WHERE seq = 8", "DELETE FROM audit"] {
        let refused = place.tamper(sql).await.unwrap_err();
        assert!(refused.contains("records of the audit are never removed"), "{sql}: {refused}");
    }
}

async fn a_new_key_authenticates_the_beginning_too(place: &Place) {
    let store = place.open().await;
    store.append_audit((1..=9).map(|at| call(at, "a")).collect()).await.unwrap();
    let by_number = AuditRetention { records: Some(2), ..AuditRetention::default() };
    assert_eq!(store.prune_audit(by_number).await.unwrap().unwrap().removed, 7);
    let [new, old] = [1, 9].map(|byte| AuditKey::new([byte; 32]));
    let rotated = StoreOptions { audit_keys: vec![new.clone(), old] };
    let rotated = Store::open(&place.url, rotated).await.unwrap();
    rotated.append_audit(vec![call(201, "c")]).await.unwrap();
    let renewed = Store::open(&place.url, StoreOptions { audit_keys: vec![new] }).await.unwrap();
    assert_eq!(verified(&renewed).await, (8, 3));
}

async fn who_removes_records_and_has_no_key_is_found_out(place: &Place) {
    let store = place.open().await;
    store.append_audit((1..=9).map(|at| call(at, "a")).collect()).await.unwrap();
    let old_end = "CREATE TABLE h AS SELECT * FROM settings WHERE name = 'audit.head'";
    place.tamper(old_end).await.unwrap();
    store.append_audit((10..=20).map(|at| call(at, "a")).collect()).await.unwrap();
    let cut = "UPDATE audit_pruned SET seq = 9; DELETE FROM audit WHERE seq <= 9;";
    place.tamper(cut).await.unwrap();
    let missing = |verdict| matches!(verdict, AuditVerdict::Broken { seq: 1, .. });
    assert!(missing(store.verify_audit().await.unwrap()));
    // An end of the log that was genuine once is no beginning of it.
    let forged = "INSERT INTO settings SELECT 'audit.checkpoint', value FROM h";
    place.tamper(forged).await.unwrap();
    assert!(missing(store.verify_audit().await.unwrap()));
}

async fn several_stores_write_one_chain(place: &Place) {
    let (one, two) = (place.open().await, place.open().await);
    let write = async |store: &Store, tool: &str| {
        for at in 0..40 {
            store.append_audit(vec![call(at, tool), call(at, tool)]).await.unwrap();
        }
    };
    tokio::join!(write(&one, "a"), write(&two, "b"), write(&one, "c"));
    let verdict = one.verify_audit().await.unwrap();
    assert!(matches!(verdict, AuditVerdict::Verified { records: 240, .. }), "{verdict:?}");
    for tool in ["a", "b", "c"] {
        let filter = AuditFilter { tool: Some(tool.to_owned()), ..AuditFilter::default() };
        assert_eq!(two.audit(filter, 1_000).await.unwrap().len(), 80);
    }
}

/// Of a log in which what is looked for is rare: the database itself chooses an index for each filter.
async fn each_filter_reads_an_index(place: &Place) {
    let store = place.open().await;
    let text = |text: &str| Some(text.to_owned());
    let common = |at| NewAudit { server_id: text("s"), server_name: text("n"), ..call(at, "t") };
    for at in 0..5 {
        store.append_audit((0..2_000).map(|n| common(at * 2_000 + n)).collect()).await.unwrap();
    }
    let rare = NewAudit {
        server_id: text("rare"),
        server_name: text("rare"),
        action: "rare".to_owned(),
        outcome: "rare".to_owned(),
        principal: "rare".to_owned(),
        ..call(20_000, "rare")
    };
    store.append_audit(vec![rare]).await.unwrap();
    place.tamper("ANALYZE").await.unwrap();
    let any = AuditFilter::default;
    let table: &[(AuditFilter, &[&str])] = &[
        (AuditFilter { server: text("rare"), ..any() }, &["audit_server", "audit_server_name"]),
        (AuditFilter { tool: text("rare"), ..any() }, &["audit_tool"]),
        (AuditFilter { action: text("rare"), ..any() }, &["audit_action"]),
        (AuditFilter { outcome: text("rare"), ..any() }, &["audit_outcome"]),
        (AuditFilter { principal: text("rare"), ..any() }, &["audit_principal"]),
    ];
    for (filter, indexes) in table {
        let plan = store.explain_audit(filter.clone(), 50).await.unwrap();
        for index in *indexes {
            assert!(plan.iter().any(|line| line.contains(index)), "{filter:?}: {plan:#?}");
        }
        assert_eq!(store.audit(filter.clone(), 50).await.unwrap().len(), 1, "{filter:?}");
    }
}

async fn a_mark_stands_there_if_and_only_if_the_records_do(place: &Place) {
    let store = place.open().await;
    let mark = |value: u8| ("writer".to_owned(), vec![value]);
    assert_eq!(store.append_marked_audit(vec![call(1, "a")], mark(1)).await, Ok(1));
    assert_eq!(store.setting("writer").await.unwrap(), Some(vec![1]));
    let stranger = StoreOptions { audit_keys: vec![AuditKey::new([1; 32])] };
    let stranger = Store::open(&place.url, stranger).await.unwrap();
    assert!(stranger.append_marked_audit(vec![call(2, "b")], mark(2)).await.is_err());
    assert_eq!(store.setting("writer").await.unwrap(), Some(vec![1]));
    assert_eq!(store.append_marked_audit(vec![], mark(3)).await, Ok(0));
    assert_eq!(store.setting("writer").await.unwrap(), Some(vec![3]));
    assert_eq!(verified(&store).await, (1, 1));
}
