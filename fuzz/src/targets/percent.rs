//! Percent-encoding and forms: what is encoded is decoded again, and comes through a form unchanged.

use trunkline_http::{decode, decode_value, encode, encode_value, read_form, write_form};

use crate::input::two_texts;

pub(crate) fn run(bytes: &[u8]) {
    let Some((name, value)) = two_texts(bytes) else { return };
    for text in [name, value] {
        let _ = (decode(text).is_ok(), decode_value(text).is_ok(), read_form(text).is_ok());
        assert_eq!(decode(&encode(text)).as_deref(), Ok(text));
        assert_eq!(decode_value(&encode_value(text)).as_deref(), Ok(text));
    }
    let form = write_form(&[(name, value), (value, name)]);
    let expected = vec![(name.to_owned(), value.to_owned()), (value.to_owned(), name.to_owned())];
    assert_eq!(read_form(&form), Ok(expected), "a form came through changed");
}
