//! Strangers who bring codes that nobody was given: they keep nobody else from signing in.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::http::Ask;
use kit::{LIMIT, process};

use super::Scene;
use super::Visitor;

const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const AT_ONCE: usize = 20;
/// Wrong codes of one address within a minute, after which it is slowed.
const WRONG_TOKENS: usize = 60;

/// Back to where somebody has begun a sign-in, with a code that they have made up.
#[track_caller]
fn invented(stranger: &mut Visitor, scene: &Scene) -> Ask {
    let back = stranger.go_there(&scene.provider, "bob");
    let (start, rest) = back.split_once("code=").expect("a code");
    let rest = rest.split_once('&').expect("more than the code").1;
    stranger.dressed(&Ask::get(&format!("{start}code=invented&{rest}")))
}

#[test]
fn strangers_of_one_address_leave_places_for_people_of_others() {
    let scene = Scene::new();
    scene.provider.set(|state| state.holds_wrong_codes = true);
    let mut stranger = scene.visitor();
    let ask = invented(&mut stranger, &scene);
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (ask, stranger, refused) = (&ask, &stranger, &refused);
        for _ in 0..AT_ONCE {
            scope.spawn(move || {
                let answer = stranger.connect().ask(ask);
                if answer.status() == 503 {
                    assert!(answer.text().contains("too many people"), "{}", answer.text());
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        process::wait_until("each waits at the provider or was refused", LIMIT, || {
            scene.provider.state().held + refused.load(Ordering::Relaxed) == AT_ONCE
        });
        let mut alice = Visitor { from: Some(ELSEWHERE), ..scene.visitor() };
        let page = alice.sign_in(&scene.provider, "alice");
        // First, so that nobody waits for ever if that is wrong.
        scene.provider.set(|state| state.holds_wrong_codes = false);
        assert_eq!(page.status(), 200, "{}", page.text());
    });
    assert_eq!(scene.provider.state().held, 4, "the others were refused");
}

/// It may be the address of a proxy, with people behind it.
#[test]
fn an_address_that_brings_wrong_codes_has_one_place_and_is_not_locked_out() {
    let scene = Scene::new();
    let mut stranger = scene.visitor();
    let ask = invented(&mut stranger, &scene);
    let mut connection = stranger.connect();
    for number in 0..WRONG_TOKENS {
        let answer = connection.ask(&ask);
        assert_eq!(answer.status(), 400, "{number}: {}", answer.text());
    }
    scene.provider.set(|state| state.holds_wrong_codes = true);
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (ask, stranger, refused) = (&ask, &stranger, &refused);
        for _ in 0..3 {
            scope.spawn(move || {
                let answer = stranger.connect().ask(ask);
                if answer.status() == 503 {
                    assert_eq!(answer.head.header("retry-after"), Some("1"));
                    assert!(answer.text().contains("keys sign in meanwhile"), "{}", answer.text());
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        process::wait_until("one waits at the provider, two were refused", LIMIT, || {
            scene.provider.state().held == WRONG_TOKENS + 1 && refused.load(Ordering::Relaxed) == 2
        });
        let mut alice = Visitor { from: Some(ELSEWHERE), ..scene.visitor() };
        let page = alice.sign_in(&scene.provider, "alice");
        scene.provider.set(|state| state.holds_wrong_codes = false);
        assert_eq!(page.status(), 200, "{}", page.text());
    });
    let page = scene.visitor().sign_in(&scene.provider, "bob");
    assert_eq!(page.status(), 200, "{}", page.text());
}
