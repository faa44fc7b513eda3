//! The taxonomy by forms: a skill is added, changed and removed by whoever may.

use kit::dashboard::Person;
use kit::platform::ADMIN;
use kit::room::Room;
use serde_json::Value;

/// The skill of this id, as REST tells it.
fn skill(platform: &kit::platform::Platform, id: &str) -> Option<Value> {
    let told = platform.admin().get("/api/v1/skills").is(200);
    let skills = told["skills"].as_array().expect("skills").iter();
    skills.into_iter().find(|skill| skill["id"] == id).cloned()
}

#[test]
fn a_skill_is_added_changed_and_removed() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let person = Person::signed_in(&platform, ADMIN);
    let new = [("id", "robots"), ("title", "Robots"), ("keywords", "arm gripper")];
    assert_eq!(person.submit("/skills", "/skills", &new).status(), 303);
    assert!(person.page("/skills").contains("href=\"/skills/robots/edit\""));
    // Twice by mistake: the first stays as it is, and nothing has to be typed again.
    let again = [("id", "robots"), ("title", "Something <else>"), ("keywords", "")];
    let refused = person.submit("/skills", "/skills", &again);
    assert_eq!(refused.status(), 409);
    assert!(
        refused.text().contains("already") && refused.text().contains("Something &lt;else&gt;")
    );
    assert_eq!(skill(&platform, "robots").expect("it is there")["title"], "Robots");

    let edit = "/skills/robots/edit";
    assert!(person.page(edit).contains("arm gripper"));
    let changed = [("title", "Robots & arms"), ("keywords", "joint")];
    assert_eq!(person.submit(edit, edit, &changed).status(), 303);
    assert!(person.page("/skills").contains("Skill Robots &amp; arms saved"));
    let known = skill(&platform, "robots").expect("it is there");
    assert_eq!((&known["title"], &known["keywords"]), (&"Robots & arms".into(), &"joint".into()));
    let refused = person.submit(edit, edit, &[("title", ""), ("keywords", "kept")]);
    assert_eq!(refused.status(), 422);
    assert!(refused.text().contains("role=\"alert\"") && refused.text().contains("kept"));

    let remove = "/skills/robots/remove";
    assert!(person.page(remove).contains("Remove Robots &amp; arms?"));
    assert!(skill(&platform, "robots").is_some(), "asking removes nothing");
    assert_eq!(person.submit(remove, remove, &[]).status(), 303);
    assert!(person.page("/skills").contains("Skill removed."));
    assert!(skill(&platform, "robots").is_none());
    for gone in [edit, remove, "/skills/nothing/edit"] {
        assert_eq!(person.get(gone).status(), 404, "{gone}");
    }
}

#[test]
fn who_may_not_change_skills_is_shown_no_way_to() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let viewer = Person::signed_in(&platform, &platform.key("caller"));
    assert!(!viewer.page("/skills").contains("/edit"));
    for path in ["/skills/database/edit", "/skills/database/remove"] {
        assert_eq!(viewer.get(path).status(), 403, "{path}");
    }
    assert!(skill(&platform, "database").is_some());
}
