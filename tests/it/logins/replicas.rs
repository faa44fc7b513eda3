//! Several processes with one grant: each refresh token is used once, whoever uses it.

use kit::LIMIT;
use kit::client::Client;
use kit::database::Database;
use kit::platform::{Platform, SERVERS, id_of};
use kit::process::wait_until;
use kit::way::Way;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Stage, begin, come_back, consent, needs_login, place};

/// The authority ends a grant whose refresh token comes twice.
#[track_caller]
fn renew_together(stage: &Stage, flags: &[&str]) {
    stage.authority.set(|state| state.lifetime = 2);
    let replicas = [(); 2].map(|()| stage.room.platform(flags));
    let id = stage.logged_in(&replicas[0]);
    let there = format!("{SERVERS}/{id}");
    let is_known = || replicas[1].admin().get(&there).status() == 200;
    wait_until("the other one knows the server", LIMIT, is_known);
    replicas[1].wait_status(&id, "CONNECTED");
    wait_until("ten renewals", 2 * LIMIT, || {
        for replica in &replicas {
            replica.call("docs.echo", &json!({})).is(200);
        }
        stage.authority.state().refreshes >= 10
    });
    // Neither has anything to say that the server takes, and both are asked.
    stage.authority.set(|state| state.lifetime = 3600);
    stage.authority.expire();
    let ask = Platform::call_ask("docs.echo", "{}");
    let calls: Vec<_> = (0..20).map(|at| replicas[at % 2].admin().begin(&ask)).collect();
    for mut call in calls {
        let answer = call.response(LIMIT);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    let state = stage.authority.state();
    assert_eq!((state.reused, state.asked.len()), (0, 1));
    drop(state);
    for replica in &replicas {
        assert_eq!(replica.server(&id)["auth"]["state"], "logged-in");
        assert!(replica.audit().iter().all(|record| record["action"] != "lose-login"));
    }
}

#[test]
fn replicas_on_one_file_use_each_refresh_token_once() {
    renew_together(&Stage::new(), &[]);
}

#[test]
fn replicas_on_postgres_use_each_refresh_token_once() {
    let database = Database::new();
    let way = Way::to(database.behind());
    renew_together(&Stage::new(), &["--store", &database.url(&way)]);
}

#[test]
fn several_aggregators_of_one_user_use_each_refresh_token_once() {
    let stage = Stage::configured();
    stage.authority.set(|state| state.lifetime = 2);
    stage.log_in_here();
    let clients = [(); 3].map(|()| {
        let mut command = stage.room.trunkline(&[]);
        command.env("XDG_DATA_HOME", stage.room.path("own"));
        let client = Client::spawn(command);
        client.initialize("2025-11-25");
        client
    });
    wait_until("ten renewals", 2 * LIMIT, || {
        clients.iter().for_each(|client| client.assert_echo("docs", "echo", "{}"));
        stage.authority.state().refreshes >= 10
    });
    assert_eq!(stage.authority.state().reused, 0);
}

/// With the lease of the store in its hands: that ends by itself, within a minute.
#[test]
fn a_replica_that_is_killed_while_it_renews_keeps_the_others_from_it_for_a_while_only() {
    let stage = Stage::hurried();
    let replicas = [(); 2].map(|()| stage.room.platform(&[]));
    let id = stage.logged_in(&replicas[0]);
    let there = format!("{SERVERS}/{id}");
    let is_known = || replicas[1].admin().get(&there).status() == 200;
    wait_until("the other one knows the server", LIMIT, is_known);
    replicas[1].wait_status(&id, "CONNECTED");
    stage.authority.set(|state| state.stalls = true);
    stage.authority.expire();
    let _call = replicas[0].admin().begin(&Platform::call_ask("docs.echo", "{}"));
    wait_until("it asks for another token", LIMIT, || stage.authority.state().stalled == 1);
    replicas[0].serve().process().signal(Signal::KILL);
    replicas[0].serve().process().wait_exit(LIMIT);
    stage.authority.set(|state| state.stalls = false);
    wait_until("the other one renews it", 3 * LIMIT, || {
        replicas[1].call("docs.echo", &json!({})).status() == 200
    });
    let state = stage.authority.state();
    assert_eq!(
        (state.refreshes, state.reused, state.asked.len()),
        (1, 0, 1),
        "nobody logs in again"
    );
    drop(state);
    assert_eq!(replicas[1].server(&id)["auth"]["state"], "logged-in");
    assert!(replicas[1].audit().iter().all(|record| record["action"] != "lose-login"));
}

/// A balancer may send the browser to any of them.
#[test]
fn a_login_is_finished_at_whichever_replica_the_browser_comes_back_to() {
    let database = Database::new();
    let way = Way::to(database.behind());
    let stage = Stage::new();
    let flags = ["--store", &database.url(&way)];
    let replicas = [(); 2].map(|()| stage.room.platform(&flags));
    let id = id_of(&replicas[0].register(&stage.registration()));
    needs_login(&replicas[0], &id);
    let location = consent(&begin(&replicas[0], &id));
    let page = come_back(&replicas[1], &location);
    assert_eq!(page.status(), 200, "{page}");
    assert!(page.response.text().contains("docs"), "{page}");
    for replica in &replicas {
        let again = come_back(replica, &location);
        assert_eq!(again.status(), 400, "{again}");
        replica.wait_status(&id, "CONNECTED");
        replica.call("docs.echo", &json!({})).is(200);
    }
    let is_login = |record: &Value| record["action"] == "login";
    let record = replicas[1].wait_audit("the login", is_login);
    assert_eq!((&record["outcome"], &record["principal"]), (&json!("ok"), &json!("admin")));
    assert_eq!(record["server_name"], "docs", "{record:#}");
    // Nor does one of them go on with what was taken back at another.
    replicas[0].admin().delete(&place(&id)).is(204);
    for replica in &replicas {
        needs_login(replica, &id);
    }
}
