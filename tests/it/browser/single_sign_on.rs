//! Signing in at a provider of another site, as a person does: there, back, and out again.

use kit::browser::{Browser, By};
use kit::platform::Platform;
use kit::room::Room;
use kit::service::Wire;

use super::{TOKEN, tracker};
use crate::single_sign_on::provider::{CLIENT, Provider, SECRET};

#[test]
fn a_person_signs_in_at_their_issuer_sees_what_the_role_allows_and_signs_out() {
    let (room, provider) = (Room::new(), Provider::start());
    let service = tracker(&room, "tracker").listen(Wire::Http);
    let url = provider.url();
    let mut command = room.platform_command(&[
        "--allow-net",
        "127.0.0.0/8",
        "--oidc-issuer",
        &url,
        "--oidc-client-id",
        CLIENT,
        "--oidc-role",
        "ops=operator",
        "--oidc-role",
        "everybody=viewer",
    ]);
    command.env("TRUNKLINE_OIDC_CLIENT_SECRET", SECRET);
    let platform = Platform::start(command);
    let id = platform.connected("tracker", &service);
    let browser = Browser::start(&room, &format!("http://{}", platform.serve().address()));
    // Carol has no role, and learns it; then Alice sits down.
    browser.open("/servers");
    browser.wait(&TOKEN);
    browser.click(&By::Words("Sign in with 127.0.0.2"));
    browser.click(&By::Words("I am carol"));
    browser.wait_text("you have no role in this Trunkline");
    browser.assert_readable();
    browser.click(&By::Words("Sign in as somebody else"));
    browser.click(&By::Words("I am alice"));
    browser.wait(&By::Words("Sign out"));
    browser.wait_text("alice@example.com");
    assert!(browser.shows(&By::Words("Activity")), "an operator reads the log");
    browser.open("/servers");
    browser.click(&By::InRow("tracker", "Disconnect"));
    browser.wait_text("Disconnected");
    browser.click(&By::Words("Connect"));
    platform.wait_status(&id, "CONNECTED");
    browser.click(&By::Words("Sign out"));
    // There and back by itself.
    browser.wait(&TOKEN);
    assert_eq!(provider.state().ended.len(), 1, "signed out there, too");
    // Where one wanted to go, and as somebody who may only look.
    browser.open("/tools?q=weather");
    browser.click(&By::Words("Sign in with 127.0.0.2"));
    browser.click(&By::Words("I am bob"));
    browser.wait_text("tracker.forecast");
    assert_eq!(browser.path(), "/tools?q=weather");
    assert!(!browser.shows(&By::Words("Activity")));
    browser.open("/servers");
    browser.wait_text("tracker");
    assert!(!browser.shows(&By::InRow("tracker", "Disconnect")));
}
