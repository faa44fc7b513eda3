//! Servers by forms: added, changed, connected, disconnected, removed; with mistakes shown where they are.

use kit::dashboard::Person;
use kit::platform::{ADMIN, SERVERS};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use serde_json::Value;

use super::echoing;

/// The page that an answer leads to.
#[track_caller]
fn led(answer: &kit::http::Response) -> String {
    assert_eq!(answer.status(), 303, "{}\n{}", answer.head.raw, answer.text());
    answer.head.header("location").expect("a place").to_owned()
}

#[test]
fn a_server_is_added_looked_at_changed_and_removed() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    assert!(person.page("/servers").contains("No servers yet"));
    let fields = [
        ("name", "first"),
        ("description", "it echoes"),
        ("transport_type", "HTTP"),
        ("url", service.url()),
        ("headers", "X-One: 1\nX-Two: 2"),
        ("auto_connect", "on"),
        ("call_timeout", "7"),
    ];
    let place = led(&person.submit("/servers/new", "/servers/new", &fields));
    let id = place.strip_prefix("/servers/").expect("the server's page").to_owned();
    assert!(person.page(&place).contains("first is added"));
    assert!(!person.page(&place).contains("first is added"), "said once");
    platform.wait_status(&id, "CONNECTED");
    let page = person.page(&place);
    for words in ["Connected", "X-One", "echo", "first.echo", "first__echo", service.url()] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let edit = format!("{place}/edit");
    let changed = [
        ("name", "second"),
        ("description", ""),
        ("url", service.url()),
        ("headers", "X-One: ***\nX-Three: 3"),
        ("auto_connect", "on"),
        ("tag", "*"),
    ];
    assert_eq!(led(&person.submit(&edit, &edit, &changed)), place);
    let server = platform.server(&id);
    assert_eq!(server["name"], "second");
    assert_eq!((&server["description"], &server["call_timeout"]), (&Value::Null, &Value::Null));
    let headers = server["connection_config"]["headers"].as_object().expect("headers");
    assert_eq!(headers.keys().collect::<Vec<_>>(), ["X-One", "X-Three"]);
    let remove = format!("{place}/remove");
    assert_eq!(led(&person.submit(&remove, &remove, &[])), "/servers");
    assert!(person.page("/servers").contains("No servers yet"));
    assert_eq!(person.get(&place).status(), 404);
    let by: Vec<_> = platform.audit().iter().map(|it| it["action"].clone()).collect();
    for action in ["register-server", "edit-server", "delete-server"] {
        assert!(by.iter().any(|known| known == action), "{action} is not in {by:?}");
    }
}

#[test]
fn mistakes_stand_at_their_fields_and_what_was_written_stays() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let fields = [
        ("name", "not a name!"),
        ("transport_type", "HTTP"),
        ("url", "ftp://nowhere"),
        ("call_timeout", "soon"),
        ("description", "kept as it was"),
    ];
    let answer = person.submit("/servers/new", "/servers/new", &fields);
    assert_eq!(answer.status(), 422);
    let text = answer.text();
    assert!(text.matches("class=\"mistake\"").count() >= 3, "{text}");
    assert!(text.matches("aria-invalid=\"true\"").count() >= 3, "{text}");
    for words in ["kept as it was", "ftp://nowhere", "not a name!", "role=\"alert\""] {
        assert!(text.contains(words), "{words}");
    }
    let headers = [
        ("name", "a"),
        ("transport_type", "HTTP"),
        ("url", "https://a.example/"),
        ("headers", "no colon"),
    ];
    let answer = person.submit("/servers/new", "/servers/new", &headers);
    assert!(answer.text().contains("line 1 has no `:`"), "{}", answer.text());
    // What the address policy says is a problem of the whole.
    let inside = [("name", "a"), ("transport_type", "HTTP"), ("url", "http://169.254.169.254/")];
    let answer = person.submit("/servers/new", "/servers/new", &inside);
    assert!((400..500).contains(&answer.status()), "{}", answer.head.raw);
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
}

#[test]
fn connecting_and_disconnecting_are_said_and_done() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let person = Person::signed_in(&platform, ADMIN);
    let place = format!("/servers/{id}");
    led(&person.submit(&place, &format!("{place}/disconnect"), &[]));
    let page = person.page(&place);
    assert!(page.contains("Disconnected.") && page.contains("badge dot \">Disconnected"), "{page}");
    led(&person.submit("/servers", &format!("{place}/connect"), &[]));
    platform.wait_status(&id, "CONNECTED");
}

#[test]
fn a_server_that_fails_says_why_with_its_last_words() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let fake = room.fake("a").at_start(say::steps([
        say::stderr("first line\n"),
        say::stderr("no license found\n"),
        say::exit(7),
    ]));
    let entry = fake.entry();
    let shown = platform.register(&kit::platform::stdio("a", &entry));
    let id = kit::platform::id_of(&shown);
    platform.wait_status(&id, "ERROR");
    let person = Person::signed_in(&platform, ADMIN);
    wait_until("its last words", LIMIT, || {
        let page = person.page(&format!("/servers/{id}"));
        page.contains("first line\nno license found") && page.contains("Error")
    });
    assert!(person.page("/").contains("Needs attention"));
    let viewer = Person::signed_in(&platform, &platform.key("viewer"));
    assert!(!viewer.page(&format!("/servers/{id}")).contains("first line"), "not for everybody");
}

/// Whoever fills in a form knows fields, and nothing of JSON or of methods.
#[test]
fn mistakes_are_said_in_the_words_of_the_form() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("taken", &service);
    let person = Person::signed_in(&platform, ADMIN);
    let send = |fields: &[(&str, &str)]| {
        let all = [&[("transport_type", "HTTP")], fields].concat();
        let answer = person.submit("/servers/new", "/servers/new", &all);
        let text = answer.text();
        for word in ["PATCH", "POST ", "/connection_config", "`errors`", "The request has"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        text
    };
    let url = service.url();
    let text = send(&[("name", ""), ("url", "")]);
    assert!(text.contains("Fix the highlighted fields."), "{text}");
    assert!(text.contains("Name must not be empty"), "{text}");
    let text = send(&[("name", "taken"), ("url", url)]);
    assert!(text.contains("Name is taken by another server"), "{text}");
    assert!(text.contains("Choose another name, or edit the server that has it."), "{text}");
    let text = send(&[("name", "a"), ("url", url), ("headers", "Bad Name: x")]);
    assert!(text.contains("`Bad Name`"), "{text}");
    send(&[("name", "a"), ("url", "http://169.254.169.254/")]);
}

/// More than the first page has room for.
#[test]
fn servers_that_need_attention_are_counted_when_they_are_not_all_shown() {
    let room = Room::new();
    let platform = room.platform(&[]);
    for number in 0..12 {
        let body = serde_json::json!({ "name": format!("s{number}"), "transport_type": "HTTP",
            "connection_config": { "url": "http://127.0.0.1:9/mcp" } });
        platform.register(&body);
    }
    let person = Person::signed_in(&platform, ADMIN);
    wait_until("all have failed", LIMIT, || person.page("/").contains("2 more need attention"));
}

/// A cookie alone must not be enough to have a command run.
#[test]
fn a_command_takes_the_token_once_more() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let person = Person::signed_in(&platform, ADMIN);
    let entry = echoing(&room, "a").entry();
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let args: Vec<_> = entry["args"].as_array().into_iter().flatten().collect();
    let args: Vec<_> = args.iter().filter_map(|arg| arg.as_str()).collect();
    let env = entry["env"].as_object().into_iter().flatten();
    let env: Vec<_> =
        env.map(|(name, value)| format!("{name}={}", value.as_str().unwrap())).collect();
    let (command, args, env) = (text("command"), args.join("\n"), env.join("\n"));
    let fields = [
        ("name", "a"),
        ("transport_type", "STDIO"),
        ("command", &*command),
        ("args", &args),
        ("env", &env),
        ("auto_connect", "on"),
    ];
    let other = platform.key("admin");
    for token in ["", "wrong", &other] {
        let all = [&fields[..], &[("token", token)]].concat();
        let answer = person.submit("/servers/new", "/servers/new", &all);
        assert_eq!(answer.status(), 422, "{token}");
        assert!(answer.text().contains("signed in with"), "{token}");
    }
    assert_eq!(platform.admin().get(SERVERS).is(200)["total"], 0);
    let all = [&fields[..], &[("token", ADMIN)]].concat();
    let place = led(&person.submit("/servers/new", "/servers/new", &all));
    platform.wait_status(place.strip_prefix("/servers/").unwrap(), "CONNECTED");
    let operator = Person::signed_in(&platform, &platform.key("operator"));
    assert!(!operator.page("/servers/new").contains("value=\"STDIO\""), "not theirs to add");
}

#[test]
fn servers_of_the_config_file_are_shown_and_left_alone() {
    let room = Room::new();
    let config = room.config([("filed", echoing(&room, "filed").entry())]);
    let platform = room.platform(&["--config", config.to_str().unwrap()]);
    let person = Person::signed_in(&platform, ADMIN);
    wait_until("it is connected", LIMIT, || person.page("/servers").contains("Connected"));
    let listed = platform.admin().get(SERVERS).is(200);
    let id = kit::platform::id_of(&listed["servers"][0]);
    assert!(person.page("/servers").contains("config file"));
    let place = format!("/servers/{}", kit::platform::percent(&id));
    let page = person.page(&place);
    assert!(
        page.contains("config file") && !page.contains("/edit\"") && !page.contains("/remove\"")
    );
    assert_eq!(person.get(&format!("{place}/edit")).status(), 409);
    assert!(person.page(&format!("{place}/remove")).contains("Remove it there"));
}

/// Somebody else has changed it while the form was open.
#[test]
fn a_form_that_was_overtaken_changes_nothing() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let person = Person::signed_in(&platform, ADMIN);
    let edit = format!("/servers/{id}/edit");
    let page = person.page(&edit);
    let tag = kit::dashboard::between(&page, "name=\"tag\" value=\"", "\"").unwrap();
    let tag = tag.replace("&quot;", "\"");
    platform
        .admin()
        .patch(&format!("{SERVERS}/{id}"), &serde_json::json!({ "description": "new" }))
        .is(200);
    let fields = [("name", "b"), ("url", service.url()), ("tag", &*tag)];
    let answer = person.submit(&edit, &edit, &fields);
    assert_eq!(answer.status(), 412, "{}", answer.text());
    let said = "Somebody has changed this server since you opened this page. Load it again";
    assert!(answer.text().contains(said), "{}", answer.text());
    for word in ["If-Match", "revision is"] {
        assert!(!answer.text().contains(word), "{word}: {}", answer.text());
    }
    assert_eq!(platform.server(&id)["name"], "a");
}

/// Whoever may not choose a command may still name and describe the server it runs, as over REST.
#[test]
fn an_operator_changes_all_of_a_command_server_but_its_command() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = echoing(&room, "a").entry();
    let id = kit::platform::id_of(&platform.register(&kit::platform::stdio("a", &entry)));
    platform.wait_status(&id, "CONNECTED");
    let config = platform.server(&id)["connection_config"].clone();
    let operator = Person::signed_in(&platform, &platform.key("operator"));
    let edit = format!("/servers/{id}/edit");
    let page = operator.page(&edit);
    for field in ["name=\"command\"", "name=\"token\""] {
        assert!(!page.contains(field), "{field}: {page}");
    }
    assert!(page.contains("Only an admin can change its command"), "{page}");
    let tag = kit::dashboard::between(&page, "name=\"tag\" value=\"", "\"").unwrap();
    let tag = tag.replace("&quot;", "\"");
    let fields = [
        ("name", "b"),
        ("description", "for the house"),
        ("transport_type", "STDIO"),
        ("call_timeout", "9.5"),
        ("max_concurrency", "3"),
        ("auto_connect", "on"),
        // The form has no such field; whoever sends it is not heeded.
        ("command", "/bin/false"),
        ("tag", &*tag),
    ];
    assert_eq!(led(&operator.submit(&edit, &edit, &fields)), format!("/servers/{id}"));
    let server = platform.server(&id);
    assert_eq!((&server["name"], &server["description"]), (&"b".into(), &"for the house".into()));
    assert_eq!((&server["call_timeout"], &server["max_concurrency"]), (&9.5.into(), &3.into()));
    assert_eq!(server["connection_config"], config);
}

/// What a form says about a value is said once, at its field, with what to do in the form.
#[test]
fn mistakes_in_values_are_marked_once_at_their_fields() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&["--allow-stdio-registration"]);
    let person = Person::signed_in(&platform, ADMIN);
    let new = |fields: &[(&str, &str)]| {
        let all = [&[("name", "x"), ("tag", "*")], fields].concat();
        person.submit("/servers/new", "/servers/new", &all).text()
    };
    let http = [("transport_type", "HTTP"), ("url", service.url())];
    let stdio = [("transport_type", "STDIO"), ("token", ADMIN), ("command", "true")];
    let variable = "the variable `NOPE` may not be used";
    for (kind, field, value, label, said) in [
        (&http[..], "headers", "A: ${NOPE}", "headers", variable),
        (&stdio, "args", "one\n${NOPE}", "args", variable),
        (&stdio, "env", "A=${NOPE}", "env", variable),
        (&stdio, "cwd", "/${NOPE}", "cwd", variable),
        (&http, "call_timeout", "abc", "call_timeout", "Enter a number"),
        (&http, "call_timeout", "-1", "call_timeout", "Enter a number from 0.001 to 86400"),
        (&http, "max_concurrency", "-1", "max_concurrency", "Enter a whole number"),
        (&http, "max_concurrency", "0", "max_concurrency", "Enter a whole number from 1 to"),
    ] {
        let text = new(&[kind, &[(field, value)]].concat());
        for word in ["The request has", "connection_config", "connection config", "a string"] {
            assert!(!text.contains(word), "{field} {value}, {word}: {text}");
        }
        assert!(text.contains("Fix the highlighted fields."), "{field} {value}: {text}");
        assert_eq!(text.matches(said).count(), 1, "{field} {value}: {text}");
        assert_eq!(text.matches("aria-invalid").count(), 1, "{field} {value}: {text}");
        let marked = kit::dashboard::between(&text, &format!("id=\"{label}\""), ">").unwrap();
        assert!(marked.contains("aria-invalid=\"true\""), "{field} {value}: {marked}");
    }
}

#[test]
fn the_headers_that_a_moved_server_loses_are_named() {
    let room = Room::new();
    let (here, there) = (echoing(&room, "a").listen(Wire::Http), echoing(&room, "b"));
    let there = there.listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = kit::platform::remote("a", &here);
    body["connection_config"]["headers"] = serde_json::json!({ "X-One": "1", "X-Two": "2" });
    let id = kit::platform::id_of(&platform.register(&body));
    let person = Person::signed_in(&platform, ADMIN);
    let edit = format!("/servers/{id}/edit");
    let headers = "X-One: ***\nX-Two: ***";
    let moved = [("name", "a"), ("url", there.url()), ("headers", headers), ("tag", "*")];
    let text = person.submit(&edit, &edit, &moved).text();
    for words in ["`X-One` was given for ", "`X-Two` was given for "] {
        assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
    }
    let advice = "enter its value again, or remove its line";
    assert_eq!(text.matches(advice).count(), 2, "{text}");
    for word in ["request", "null"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}
