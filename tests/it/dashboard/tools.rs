//! Tools of strangers on the pages: whatever they say about themselves, the others are still seen.

use kit::dashboard::Person;
use kit::platform::{ADMIN, percent};
use kit::room::Room;
use kit::say;
use kit::service::Wire;

use super::echoing;

/// JSON that is right and cannot be held as values, each once made the list of all tools unreadable.
#[test]
fn a_tool_with_an_odd_schema_hides_no_other_tool() {
    let deep = format!(r#"{}{{}}{}"#, r#"{"properties":{"a":"#.repeat(150), "}}".repeat(150));
    let odd = [
        ("deep", deep),
        ("number", r#"{"type":"object","properties":{"n":{"maximum":1e999}}}"#.to_owned()),
        ("half", r#"{"type":"object","properties":{"n":{"description":"\ud800"}}}"#.to_owned()),
    ];
    let definitions = odd.each_ref().map(|(name, schema)| {
        format!(r#"{{"name":"{name}","description":"is odd","inputSchema":{schema}}}"#)
    });
    let room = Room::new();
    let definitions = definitions.each_ref().map(String::as_str);
    let mut fake = room.fake("strange").definitions(&definitions);
    for (name, _) in &odd {
        fake = fake.tool(name, say::echo());
    }
    let strange = fake.listen(Wire::Http);
    let plain = echoing(&room, "plain").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("strange", &strange);
    platform.connected("plain", &plain);
    let person = Person::signed_in(&platform, ADMIN);
    let page = person.page("/tools");
    for name in ["plain.echo", "strange.deep", "strange.number", "strange.half"] {
        assert!(page.contains(name), "{name}: {page}");
    }
    assert!(person.page(&format!("/servers/{id}")).contains("half"));
    for (name, _) in &odd {
        let place = format!("/tools/{}", percent(&format!("{id}/{name}")));
        assert!(person.page(&place).contains("Try it"), "{name}");
    }
}
