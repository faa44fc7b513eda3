//! JSON values as the world spells them: everything legal that a careless relay would respell.

use crate::rng::Rng;

/// Every spelling of numbers that a float or a `u64` would lose.
pub const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "0.0",
    "1",
    "1.0",
    "1.10",
    "1e2",
    "1E2",
    "1e+2",
    "1E+02",
    "1e-2",
    "100",
    "1e400",
    "1E+400",
    "-1e400",
    "1e-400",
    "9007199254740991",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "-123456789012345678901234567890",
    "0.1",
    "0.30000000000000004",
    "3.141592653589793238462643383279502884197",
    "2.50",
    "1e0",
    "10000000000000000000000.000",
    "5e-324",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "0e0",
    "0E-0",
    "-0e+00",
];

/// Strings as written, quotes included.
pub const STRINGS: &[&str] = &[
    r#""""#,
    r#""plain""#,
    r#""é""#,
    r#""\u00e9""#,
    r#""\u00E9""#,
    r#""e\u0301""#,
    r#""\/""#,
    r#""/""#,
    r#""\"""#,
    r#""\\""#,
    r#""\b\f\n\r\t""#,
    r#""\u000a""#,
    r#""\u0000""#,
    r#""\u001f""#,
    r#""\u007f""#,
    "\"\u{7f}\"",
    "\"\u{2028}\u{2029}\"",
    r#""\u2028""#,
    r#""\ud83d\ude00""#,
    "\"😀\"",
    r#""\ud800""#,
    r#""\udc00""#,
    r#""\udc00\ud800""#,
    r#""x\ud83dx""#,
    "\"\u{feff}\"",
    "\"\u{202e}abc\"",
    "\"\u{fffd}\"",
    "\"\u{10ffff}\"",
    r#""@ID@""#,
    r#""{\"id\":1}""#,
    r#""<\/script>""#,
    "\"a b  c\"",
    "\"日本語\"",
    r#""\u0041""#,
];

const WORDS: &[&str] = &["true", "false", "null"];

const EMPTY: &[&str] = &["{}", "[]", "{ }", "[ ]", "{\t}", "[\t ]", "[[]]", "[{}]", r#"{"":{}}"#];

/// Shapes with a meaning of their own somewhere on the way.
const SHAPES: &[&str] = &[
    r#"{"a":1,"a":2,"a":1}"#,
    r#"{"b":1,"a":2,"aa":3,"B":4}"#,
    r#"{"10":1,"9":2,"1":3}"#,
    r#"{"__proto__":{"x":1},"constructor":null}"#,
    r#"{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"x"}}"#,
    r#"{"result":{},"error":{"code":1}}"#,
    r#"{"_meta":{"progressToken":"not ours","x/y":[1.0]},"structuredContent":null,"isError":"maybe"}"#,
    r#"{"tools":[],"messages":[],"contents":[],"action":"accept"}"#,
    r#"{"content":[{"type":"unheard-of","audience":["system"],"blob":"AA=="}],"unknown":{"z":0,"a":0}}"#,
    r#"{"resultType":"complete","ttlMs":1.50,"cacheScope":"private"}"#,
    r#"{ "spaced" : [ 1 , 2 ,	3 ] , "end" : { "x" : "y" } }"#,
    r#"{"nextCursor":"","cursor":null}"#,
    r#"{"name":"other:tool","arguments":{"name":"x"}}"#,
    r#"{"\u0061":1,"a":2}"#,
    r#"{"caf\u00e9":"é","café":"\u00e9"}"#,
];

/// How deep the deepest value is nested.
pub const DEEPEST: usize = 200_000;

/// At least 500 values, the same ones every time. Each is one line: no raw newline anywhere.
pub fn values() -> Vec<String> {
    let fixed = [NUMBERS, STRINGS, WORDS, EMPTY, SHAPES].concat();
    let mut values: Vec<String> = fixed.into_iter().map(str::to_owned).collect();
    for levels in [1, 127, 128, 129, 1_000, 10_000, DEEPEST] {
        values.push(["[".repeat(levels), "]".repeat(levels)].concat());
        let (open, close) = (r#"{"a":"#.repeat(levels), "}".repeat(levels));
        values.push(format!("{open}1.0{close}"));
    }
    values.push(format!("\"{}\"", "long ".repeat(50_000)));
    values.push(format!("[{}0]", "1.0,".repeat(50_000)));
    values.push(format!("1{}", "0".repeat(5_000)));
    let mut rng = Rng::new(0x7472_756e_6b6c_696e);
    while values.len() < 600 {
        values.push(generate(&mut rng, 5));
    }
    values
}

/// One random value, nested at most `depth` levels.
pub fn generate(rng: &mut Rng, depth: usize) -> String {
    match rng.below(if depth == 0 { 3 } else { 8 }) {
        0 => (*rng.pick(NUMBERS)).to_owned(),
        1 => string(rng),
        2 => (*rng.pick(WORDS)).to_owned(),
        3 | 4 => array(rng, depth - 1),
        _ => object(rng, depth - 1),
    }
}

/// One random object, as arguments and results are.
pub fn object(rng: &mut Rng, depth: usize) -> String {
    let count = rng.below(6);
    let member = |rng: &mut Rng| {
        let (key, value) = (string(rng), generate(rng, depth));
        [&space(rng), &key, &space(rng), ":", &space(rng), &value, &space(rng)].concat()
    };
    let members: Vec<String> = (0..count).map(|_| member(rng)).collect();
    format!("{{{}}}", members.join(","))
}

fn array(rng: &mut Rng, depth: usize) -> String {
    let count = rng.below(6);
    let element = |rng: &mut Rng| [space(rng), generate(rng, depth), space(rng)].concat();
    let elements: Vec<String> = (0..count).map(|_| element(rng)).collect();
    format!("[{}]", elements.join(","))
}

fn string(rng: &mut Rng) -> String {
    (*rng.pick(STRINGS)).to_owned()
}

fn space(rng: &mut Rng) -> String {
    (*rng.pick(&["", "", "", " ", "  ", "\t", " \t "])).to_owned()
}

#[cfg(test)]
mod tests {
    use super::values;
    use crate::scan;

    #[test]
    fn the_corpus_is_json_and_large_enough() {
        let values = values();
        assert!(values.len() >= 500);
        for value in values {
            assert!(scan::is_json(value.as_bytes()), "{}", &value[..value.len().min(200)]);
            assert!(!value.contains(['\n', '\r']));
        }
    }
}
