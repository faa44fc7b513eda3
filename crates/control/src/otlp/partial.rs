//! `PartialSuccess`: what a collector says about records that it has not taken, in an answer that says it has.

use serde_json::Value;

use super::target::Protocol;

/// OTLP 1.x, "Partial Success": the request is not to be sent again, and these are lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialSuccess {
    /// At least one.
    pub rejected: u64,
    /// In words.
    pub why: String,
}

/// Of the collector's own words; it may say anything.
const LONGEST: usize = 300;

impl PartialSuccess {
    /// `None`: everything was taken, or the body says nothing that can be read.
    pub fn read(body: &[u8], protocol: Protocol) -> Option<Self> {
        let (rejected, said) = match protocol {
            Protocol::Json => read_json(body)?,
            Protocol::Protobuf => read_protobuf(body)?,
        };
        if rejected == 0 {
            return None;
        }
        let said: String = said.chars().filter(|it| !it.is_control()).take(LONGEST).collect();
        let why = match said.is_empty() {
            true => format!("the collector has taken all but {rejected} and does not say why"),
            false => format!("the collector has taken all but {rejected}: {said}"),
        };
        Some(Self { rejected, why })
    }
}

/// The JSON of protobuf has numbers of 64 bits as texts; both are read, and both spellings of names.
fn read_json(body: &[u8]) -> Option<(u64, String)> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let partial = answer.get("partialSuccess").or_else(|| answer.get("partial_success"))?;
    let names = ["rejectedLogRecords", "rejected_log_records", "rejectedSpans", "rejected_spans"];
    let number = names.iter().find_map(|name| partial.get(name))?;
    let rejected = number.as_u64().or_else(|| number.as_str()?.parse().ok())?;
    let said = partial.get("errorMessage").or_else(|| partial.get("error_message"));
    Some((rejected, said.and_then(Value::as_str).unwrap_or_default().to_owned()))
}

/// `Export…ServiceResponse { partial_success = 1 { rejected_… = 1, error_message = 2 } }`, of logs and traces alike.
fn read_protobuf(body: &[u8]) -> Option<(u64, String)> {
    let (mut rejected, mut said) = (0, String::new());
    for (field, value) in fields(body)? {
        let (1, FieldValue::Bytes(partial)) = (field, value) else { continue };
        for (field, value) in fields(partial)? {
            match (field, value) {
                // Negative ones are none.
                (1, FieldValue::Number(number)) if i64::try_from(number).is_ok() => {
                    rejected = number;
                }
                (2, FieldValue::Bytes(text)) => said = String::from_utf8_lossy(text).into_owned(),
                _ => {}
            }
        }
    }
    Some((rejected, said))
}

enum FieldValue<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a kind that is not needed here.
    Other,
}

/// The fields of a message in their order; `None`: it is none.
fn fields(mut rest: &[u8]) -> Option<Vec<(u64, FieldValue<'_>)>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let value = match tag & 7 {
            0 => FieldValue::Number(varint(&mut rest)?),
            1 => skipped(&mut rest, 8)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let (bytes, behind) = rest.split_at_checked(length)?;
                rest = behind;
                FieldValue::Bytes(bytes)
            }
            5 => skipped(&mut rest, 4)?,
            _ => return None,
        };
        all.push((tag >> 3, value));
    }
    Some(all)
}

fn skipped<'a>(rest: &mut &'a [u8], length: usize) -> Option<FieldValue<'a>> {
    let (_, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(FieldValue::Other)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    // Ten bytes hold 64 bits.
    for place in 0..10 {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(first & 0x7f).checked_shl(7 * place)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ProtobufMessage;
    use super::*;

    fn protobuf(rejected: u64, said: &str) -> Vec<u8> {
        let mut answer = ProtobufMessage::default();
        answer.fixed64(9, 7);
        answer.message(1, |partial| {
            partial.number(1, rejected);
            partial.bytes(2, said.as_bytes());
            partial.fixed32(3, 7);
        });
        answer.into_bytes()
    }

    fn rejected(body: &[u8], protocol: Protocol) -> Option<u64> {
        PartialSuccess::read(body, protocol).map(|partial| partial.rejected)
    }

    #[test]
    fn what_was_not_taken_is_read_in_both_forms() {
        for (body, expected) in [
            ("", None),
            ("{}", None),
            ("no", None),
            (r#"{"partialSuccess":{}}"#, None),
            (r#"{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"slow"}}"#, None),
            (r#"{"partialSuccess":{"rejectedLogRecords":"3"}}"#, Some(3)),
            (r#"{"partialSuccess":{"rejectedLogRecords":3}}"#, Some(3)),
            (r#"{"partial_success":{"rejected_spans":2}}"#, Some(2)),
            (r#"{"partialSuccess":{"rejectedLogRecords":-3}}"#, None),
        ] {
            assert_eq!(rejected(body.as_bytes(), Protocol::Json), expected, "{body}");
        }
        for (body, expected) in [
            (Vec::new(), None),
            (protobuf(0, "slow"), None),
            (protobuf(3, ""), Some(3)),
            (protobuf(300, "too old"), Some(300)),
            (protobuf(u64::MAX, ""), None),
            (b"{}".to_vec(), None),
        ] {
            assert_eq!(rejected(&body, Protocol::Protobuf), expected, "{body:?}");
        }
        let told = PartialSuccess::read(&protobuf(3, "too\nold"), Protocol::Protobuf).unwrap();
        assert_eq!(told.why, "the collector has taken all but 3: tooold");
    }

    proptest! {
        #[test]
        fn no_answer_is_too_odd(body in any::<Vec<u8>>()) {
            let _ = PartialSuccess::read(&body, Protocol::Protobuf);
            let _ = PartialSuccess::read(&body, Protocol::Json);
        }
    }
}
