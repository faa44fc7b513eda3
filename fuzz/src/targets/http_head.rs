//! Heads of HTTP messages: where one ends does not depend on what comes behind, and no head can be read as
//! having two lengths.

use trunkline_http::{
    Framing, Headers, accepts, is_field_name, is_field_value, is_type, request, response,
};

use crate::input::settings;

pub(crate) fn run(bytes: &[u8]) {
    let Some(([kind], head)) = settings::<1>(bytes) else { return };
    if kind % 2 == 0 { of_request(head) } else { of_response(head, kind % 4 == 3) }
}

fn of_request(bytes: &[u8]) {
    let Ok(Some((read, length))) = request(bytes) else { return };
    let head = &bytes[..length];
    let (alone, again) = request(head).expect("good before").expect("whole before");
    assert_eq!(again, length, "the end depends on what comes behind");
    assert_eq!((alone.method, alone.target), (read.method, read.target));
    for cut in [length - 1, length / 2] {
        assert!(!matches!(request(&bytes[..cut]), Ok(Some(_))), "half a head was taken");
    }
    assert!(!read.path().contains('?') && !read.path().is_empty());
    if let Ok(framing) = read.body() {
        one_length(&read.headers, framing);
    }
    fields(&read.headers);
    let _ = (read.host(), read.query(), read.keeps_alive(), read.expects_continue());
}

fn of_response(bytes: &[u8], to_head: bool) {
    let Ok(Some((read, length))) = response(bytes) else { return };
    let (alone, again) = response(&bytes[..length]).expect("good before").expect("whole before");
    assert_eq!((again, alone.status), (length, read.status));
    assert!((100..600).contains(&read.status) || read.status >= 600, "a status of two digits");
    if let Ok(framing) = read.body(to_head) {
        one_length(&read.headers, framing);
    }
    fields(&read.headers);
    let _ = (read.keeps_alive(), read.is_interim());
}

/// RFC 9112, 6.3: who takes both a length and chunks disagrees with the next reader about the end.
fn one_length(headers: &Headers<'_>, framing: Framing) {
    let lengths: Vec<&[u8]> = headers.all("content-length").collect();
    match framing {
        Framing::Chunked => assert!(lengths.is_empty(), "chunks and a length"),
        Framing::Length(length) => {
            assert!(headers.get("transfer-encoding").is_none(), "a length and an encoding");
            // An interim or bodiless answer has a length of 0 whatever its head says.
            if length > 0 {
                assert!(lengths.iter().all(|text| *text == length.to_string().as_bytes()
                    || text.starts_with(b"0")
                    || text.contains(&b',')));
            }
        }
        Framing::None | Framing::UntilClose => {}
    }
}

fn fields(headers: &Headers<'_>) {
    for (name, value) in headers.iter() {
        assert!(is_field_name(name), "a name that may not be written");
        assert!(is_field_value(value), "a value that may not be written");
        assert!(!value.contains(&b'\r') && !value.contains(&b'\n'), "a line end in a value");
        assert!(headers.all(name).any(|other| other == value));
    }
    let _ = accepts(headers.all("accept"), "application/json");
    let _ = headers.get("content-type").map(|value| is_type(value, "application/json"));
    let _ = headers.tokens("connection").count();
}
