//! URLs: printed and read again they are the same, and nothing in one can be taken for another host.

use trunkline_http::Url;
use trunkline_http::reach::Cidr;

use crate::input::two_texts;

pub(crate) fn run(bytes: &[u8]) {
    let Some((text, reference)) = two_texts(bytes) else { return };
    let Ok(url) = Url::parse(text) else { return };
    sound(&url);
    if let Ok(joined) = url.join(reference) {
        sound(&joined);
        // A reference that names neither scheme nor host stays with its server.
        if !reference.contains(':') && !reference.starts_with("//") {
            assert_eq!(joined.origin(), url.origin(), "a path led to another server");
        }
    }
    if let Ok(network) = reference.parse::<Cidr>() {
        assert_eq!(
            network.to_string().parse(),
            Ok(network),
            "a network that is printed as another one"
        );
    }
}

fn sound(url: &Url) {
    let host = url.host();
    assert!(
        !host.is_empty() && !host.contains(['/', '\\', '@', '#', '?', ' ', '\t', '\n', '\r', '%'])
    );
    assert!(!host.bytes().any(|byte| byte.is_ascii_uppercase()), "upper case in a host");
    assert!(url.port() > 0);
    let target = url.target();
    assert!(target.starts_with('/'));
    assert!(
        target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'),
        "unsafe in a request line"
    );
    let again = Url::parse(&url.to_string()).expect("what is printed can be read");
    assert_eq!(&again, url, "read again it is another one");
}
