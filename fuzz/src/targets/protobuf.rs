//! The protobuf of traces and of a collector's answers, which is written and read by hand: a plain reader finds everything
//! that was written.

use trunkline_control::otlp::{PartialSuccess, Protocol};
use trunkline_control::trace::{OtlpKind, Span, encode_protobuf};

use crate::input::{settings, two_texts};

const KEYS: [&str; 3] = ["mcp.method.name", "gen_ai.tool.name", "error.type"];

pub(crate) fn run(bytes: &[u8]) {
    let Some((numbers, rest)) = settings::<32>(bytes) else { return };
    let Some((name, value)) = two_texts(rest) else { return };
    let number = |at: usize| u64::from_le_bytes(numbers[at..at + 8].try_into().expect("8 bytes"));
    let span = Span {
        trace: numbers[..16].try_into().expect("16 bytes"),
        id: numbers[8..16].try_into().expect("8 bytes"),
        parent: (numbers[0] % 2 == 0).then(|| numbers[16..24].try_into().expect("8 bytes")),
        kind: if numbers[1] % 2 == 0 { OtlpKind::Server } else { OtlpKind::Client },
        name: name.to_owned(),
        start: number(16),
        end: number(24),
        attributes: vec![(KEYS[usize::from(numbers[2]) % KEYS.len()], value.to_owned())],
        error: (numbers[3] % 2 == 0).then(|| value.to_owned()),
    };
    let resource = [("service.name".to_owned(), name.to_owned())];
    let request = encode_protobuf(&[span.clone(), span.clone()], &resource);
    let of_resource = only(&request, 1);
    let attribute = only(only(of_resource, 1), 1);
    assert_eq!(
        (only(attribute, 1), only(only(attribute, 2), 1)),
        (&b"service.name"[..], name.as_bytes())
    );
    let spans = all(only(of_resource, 2), 2);
    assert_eq!(spans.len(), 2);
    for written in spans {
        same(written, &span);
    }
}

/// What a collector answers: any bytes are read, and what was written is found.
pub(crate) fn answer(bytes: &[u8]) {
    for protocol in [Protocol::Protobuf, Protocol::Json] {
        let _ = PartialSuccess::read(bytes, protocol);
    }
    let Some((number, said)) = settings::<8>(bytes) else { return };
    let number = u64::from_le_bytes(number);
    let mut partial = vec![8];
    write_varint(number, &mut partial);
    partial.push(18);
    write_varint(said.len() as u64, &mut partial);
    partial.extend_from_slice(said);
    let mut message = vec![10];
    write_varint(partial.len() as u64, &mut message);
    message.extend(partial);
    let read = PartialSuccess::read(&message, Protocol::Protobuf).map(|read| read.rejected);
    assert_eq!(read, Some(number).filter(|it| *it > 0 && i64::try_from(*it).is_ok()));
    let cut = usize::from(said.first().copied().unwrap_or(0)) % message.len();
    let _ = PartialSuccess::read(&message[..cut], Protocol::Protobuf);
}

fn write_varint(mut number: u64, to: &mut Vec<u8>) {
    while number > 0x7f {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn same(written: &[u8], span: &Span) {
    assert_eq!(only(written, 1), span.trace);
    assert_eq!(only(written, 2), span.id);
    assert_eq!(all(written, 4).first().copied(), span.parent.as_ref().map(<[u8; 8]>::as_slice));
    assert_eq!(all(written, 5).concat(), span.name.as_bytes());
    assert_eq!(only(written, 7), span.start.to_le_bytes());
    assert_eq!(only(written, 8), span.end.to_le_bytes());
    let attribute = only(written, 9);
    assert_eq!(only(attribute, 1), span.attributes[0].0.as_bytes());
    assert_eq!(all(only(attribute, 2), 1).concat(), span.attributes[0].1.as_bytes());
    let status = all(written, 15).concat();
    let error = all(&status, 2).concat();
    assert_eq!(error, span.error.clone().unwrap_or_default().as_bytes());
}

fn only(message: &[u8], field: u64) -> &[u8] {
    match all(message, field)[..] {
        [one] => one,
        ref many => panic!("field {field} is there {} times", many.len()),
    }
}

/// The values of a field, of numbers their bytes.
fn all(message: &[u8], field: u64) -> Vec<&[u8]> {
    let (mut found, mut rest) = (Vec::new(), message);
    while !rest.is_empty() {
        let (tag, behind) = varint(rest);
        let (value, behind) = match tag & 7 {
            0 => behind.split_at(behind.len() - varint(behind).1.len()),
            1 => behind.split_at(8),
            2 => {
                let (length, behind) = varint(behind);
                behind.split_at(usize::try_from(length).expect("a length"))
            }
            5 => behind.split_at(4),
            other => panic!("wire type {other}"),
        };
        if tag >> 3 == field {
            found.push(value);
        }
        rest = behind;
    }
    found
}

fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, &bytes[place + 1..]);
        }
    }
    panic!("a number without an end")
}
