//! Skills: what a language model suggests is decided on by a person, who has the last word on every tool.

use kit::browser::By;
use kit::llm::{Llm, Said};
use kit::platform::{Platform, percent};
use kit::process::wait_until;
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, say};
use serde_json::json;

use super::{admin, tool, tracker};

#[test]
fn a_suggested_skill_is_approved_and_another_rejected() {
    let room = Room::new();
    let llm = Llm::start(|asked| {
        Said::json(&asked.each(|name| {
            let (id, title) =
                if name == "grasp" { ("robots", "Robots") } else { ("lasers", "Lasers") };
            let new =
                json!({ "id": id, "title": title, "keywords": "arm", "reason": "none <fits>" });
            json!({ "skills": [{ "id": "home_iot", "confidence": 0.2 }], "new_skill": new })
        }))
    });
    let url = llm.url();
    let flags = ["--allow-net", "127.0.0.0/8", "--llm-url", &url, "--llm-model", "scripted-1"];
    let mut command = room.platform_command(&flags);
    command.env("TRUNKLINE_LLM_KEY", "sk-of-the-tests");
    let platform = Platform::start(command);
    let definitions = [
        tool("grasp", "Move the gripper and grasp an object", json!({})),
        tool("burn", "Fire the laser", json!({})),
    ];
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let fake = room.fake("arm").definitions(&definitions);
    let service = fake.tool("grasp", say::echo()).tool("burn", say::echo()).listen(Wire::Http);
    platform.connected("arm", &service);
    let pending = || {
        let path = "/api/v1/skills/suggestions?state=pending";
        platform.admin().get(path).is(200)["suggestions"].as_array().map_or(0, Vec::len)
    };
    wait_until("two suggestions", LIMIT, || pending() == 2);
    let browser = admin(&room, &platform);
    browser.open("/skills");
    let queue = By::Css("#queue");
    browser.wait_text_in(&queue, "none <fits>");
    browser.click(&By::InRow("Robots", "Approve"));
    browser.wait_text("Robots is approved.");
    browser.wait_text_in(&By::Css("#skills"), "robots");
    browser.click(&By::InRow("Lasers", "Reject"));
    browser.wait_text("Lasers is rejected.");
    browser.wait_text_in(&queue, "No suggestions.");
    assert_eq!(pending(), 0);
    let shown = browser.text_of(&By::Css("#skills"));
    assert!(!shown.contains("lasers"), "{shown}");
    browser.assert_quiet();
}

#[test]
fn a_person_says_which_skills_a_tool_has_and_leaves_it_to_the_model_again() {
    let room = Room::new();
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("tracker", &service);
    let skills = format!("/api/v1/tools/{}/skills", percent(&format!("{id}/forecast")));
    let source = || platform.admin().get(&skills).is(200)["source"].clone();
    wait_until("it is judged", LIMIT, || source() == "model");
    let browser = admin(&room, &platform);
    browser.open(&format!("/tools/{}", percent(&format!("{id}/forecast"))));
    browser.wait_text("Classified by the built-in model.");
    browser.click(&By::Words("Set skills manually"));
    browser.choose(&By::Label("Primary skill"), "Finance and markets");
    browser.choose(&By::Label("Second skill"), "–");
    browser.choose(&By::Label("Third skill"), "–");
    browser.click(&By::Words("Save skills"));
    browser.wait_text("Set manually.");
    assert_eq!(platform.admin().get(&skills).is(200)["skill_ids"], json!(["finance"]));
    browser.click(&By::Words("Set skills manually"));
    browser.click(&By::Words("Reset to automatic"));
    browser.wait_text("Classified by the built-in model.");
    assert_eq!(source(), "model");
}

#[test]
fn a_skill_is_added_and_one_that_cannot_be_is_refused_with_words() {
    let room = Room::new();
    let platform = room.platform(&[]);
    let browser = admin(&room, &platform);
    browser.open("/skills");
    browser.click(&By::Words("Add a skill"));
    browser.fill(&By::Label("Id"), "robots");
    browser.fill(&By::Label("Title"), "Robots <3");
    browser.fill(&By::Label("Keywords"), "arm gripper");
    browser.click(&By::Words("Add skill"));
    browser.wait_text("Skill Robots <3 added.");
    browser.wait_text_in(&By::Css("#skills"), "robots");
    browser.click(&By::Words("Add a skill"));
    // The browser is not the judge.
    browser.script("for (const it of document.querySelectorAll('form')) it.noValidate = true", &[]);
    browser.fill(&By::Label("Id"), "Not An Id");
    browser.fill(&By::Label("Title"), "Kept");
    browser.click(&By::Words("Add skill"));
    browser.wait(&By::Css(".notice.bad"));
    assert_eq!(browser.value_of(&By::Label("Title")), "Kept", "nothing has to be typed twice");
}
