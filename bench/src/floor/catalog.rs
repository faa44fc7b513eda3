//! Serialises the one `tools/list` answer from what the children listed.

use crate::era::{CACHEABLE, Era};
use crate::scan;
use std::rc::Rc;

/// Server and separator in front of every tool's name, everything else as the child wrote it; the answer behind the id.
pub(super) fn serialise(
    separator: u8,
    era: Era,
    names: &[Vec<u8>],
    answers: &[Vec<u8>],
) -> Rc<[u8]> {
    let mut out = Vec::with_capacity(answers.iter().map(Vec::len).sum::<usize>() * 5 / 4);
    out.extend_from_slice(br#","result":{"#);
    if era == Era::Modern {
        out.extend_from_slice(CACHEABLE);
    }
    out.extend_from_slice(br#""tools":["#);
    for (name, answer) in names.iter().zip(answers) {
        for tool in tools(answer) {
            if out.last() != Some(&b'[') {
                out.push(b',');
            }
            push_tool(&mut out, name, separator, tool);
        }
    }
    out.extend_from_slice(b"]}}\n");
    out.into()
}

fn tools(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    let array = scan::field(answer, 0, b"result")
        .and_then(|result| scan::field(answer, result.start, b"tools"));
    let spans = array.map(|span| scan::elements(answer, span.start)).unwrap_or_default();
    spans.into_iter().map(|span| &answer[span])
}

fn push_tool(out: &mut Vec<u8>, server: &[u8], separator: u8, tool: &[u8]) {
    let Some(name) = scan::field(tool, 0, b"name") else {
        return;
    };
    out.extend_from_slice(&tool[..=name.start]);
    out.extend_from_slice(server);
    out.push(separator);
    out.extend_from_slice(&tool[name.start + 1..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prefixed_and_nothing_else_changes() {
        let answer =
            br#"{"id":1,"result":{"tools":[{"x":{"name":1},"name":"t"},{"name":"u"}]}}"#.to_vec();
        let names = [b"a".to_vec(), b"b".to_vec()];
        let answers = [answer, br#"{"id":1}"#.to_vec()];
        let tools = r#""tools":[{"x":{"name":1},"name":"a:t"},{"name":"a:u"}]}}"#;
        for (era, before) in
            [(Era::Legacy, ""), (Era::Modern, r#""resultType":"complete","ttlMs":0,"#)]
        {
            let got = serialise(b':', era, &names, &answers);
            let got = String::from_utf8_lossy(&got);
            assert!(got.starts_with(&format!(",\"result\":{{{before}")), "{got}");
            assert!(got.ends_with(&format!("{tools}\n")), "{got}");
        }
    }
}
