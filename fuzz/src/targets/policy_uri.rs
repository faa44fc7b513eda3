//! The forms of a URI that policies decide about: however a path is spelt, one of them is where it leads.

use trunkline_policy::other_forms;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    // Any text at all: none is too odd.
    let _ = other_forms(text);
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let uri = format!("file:///{path}");
    let meant = format!("file:///{}", followed(path));
    let is_it = |form: &str| form.trim_end_matches('/') == meant.trim_end_matches('/');
    let forms = other_forms(&uri);
    assert!(is_it(&uri) || forms.iter().any(|form| is_it(&form.text)), "{uri}: {meant} {forms:?}");
    // What leads elsewhere than it says has to be permitted there.
    let steps = path.split('/').any(|segment| segment == "..");
    assert!(!steps || forms.iter().any(|form| form.is_elsewhere), "{uri}: {forms:?}");
}

/// Where a path leads below the root, step by step.
fn followed(path: &str) -> String {
    let mut text = path.to_owned();
    for _ in 0..3 {
        text = unescaped(&text);
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in text.split(['/', '\\']) {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut made, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|two| str::from_utf8(two).ok());
        let digits = digits.filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.filter(|_| bytes[at] == b'%') {
            Some(two) => {
                made.push(u8::from_str_radix(two, 16).expect("two digits"));
                at += 3;
            }
            None => {
                made.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&made).into_owned()
}
