//! Text read another way, with the way back to where each byte stood: with its escapes undone (JSON, HTML, `\x`, octal,
//! percent-encoding), and lists of numbers as the bytes they stand for (`de:ad:be:ef`, `<Buffer de ad>`, `222, 173`).

use std::ops::Range;

/// Fewer bytes are no list: dates, times and addresses are written like this, too.
const SHORTEST_LIST: usize = 6;
/// Hexadecimal digits in one number of a list: 16 bytes, as wide as any dump groups them.
const MOST_DIGITS: usize = 32;
/// Digits of a numeric character reference; programs fill them up with zeros.
const MOST_REFERENCE_DIGITS: usize = 8;

/// HTML's names of ASCII characters (HTML Standard, 13.5), as escapers write them.
const NAMES: [(&str, u8); 36] = [
    ("Tab", b'\t'),
    ("NewLine", b'\n'),
    ("excl", b'!'),
    ("quot", b'"'),
    ("num", b'#'),
    ("dollar", b'$'),
    ("percnt", b'%'),
    ("amp", b'&'),
    ("apos", b'\''),
    ("lpar", b'('),
    ("rpar", b')'),
    ("ast", b'*'),
    ("plus", b'+'),
    ("comma", b','),
    ("period", b'.'),
    ("sol", b'/'),
    ("colon", b':'),
    ("semi", b';'),
    ("lt", b'<'),
    ("equals", b'='),
    ("gt", b'>'),
    ("quest", b'?'),
    ("commat", b'@'),
    ("lsqb", b'['),
    ("lbrack", b'['),
    ("bsol", b'\\'),
    ("rsqb", b']'),
    ("rbrack", b']'),
    ("Hat", b'^'),
    ("lowbar", b'_'),
    ("grave", b'`'),
    ("lcub", b'{'),
    ("lbrace", b'{'),
    ("verbar", b'|'),
    ("rcub", b'}'),
    ("rbrace", b'}'),
];
const LONGEST_NAME: usize = 7;

/// What a text says when it is read another way.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) bytes: Vec<u8>,
    /// What was not copied as it is, in order.
    pieces: Vec<Piece>,
}

/// Some bytes of a reading, and the part of the text that stands for them.
struct Piece {
    read: Range<usize>,
    text: Range<usize>,
}

impl Reading {
    /// The text with its escapes undone once; nothing if it has none.
    pub(super) fn unescaped(text: &[u8]) -> Option<Reading> {
        let mut reading = Reading::default();
        let (mut at, mut copied) = (0, 0);
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(escape) = Escape::read(rest) else {
                at += 1;
                continue;
            };
            reading.bytes.extend_from_slice(text.get(copied..at).unwrap_or_default());
            let end = at + escape.length;
            reading.add(escape.bytes(&mut [0; 4]), at..end);
            (at, copied) = (end, end);
        }
        if reading.pieces.is_empty() {
            return None;
        }
        reading.bytes.extend_from_slice(text.get(copied..).unwrap_or_default());
        Some(reading)
    }

    /// Each list of bytes in the text that is written in hexadecimal or decimal numbers.
    pub(super) fn lists(text: &[u8]) -> Vec<Reading> {
        let mut lists = Vec::new();
        for base in [Base::Hexadecimal, Base::Decimal] {
            let mut at = 0;
            while let Some(start) = next_number(text, at) {
                let list = list_at(text, start, base);
                at = list.pieces.last().map_or(start + 1, |last| last.text.end);
                if list.pieces.len() > 1 && list.bytes.len() >= SHORTEST_LIST {
                    lists.push(list);
                }
            }
        }
        lists
    }

    /// The part of the text that stands for these bytes.
    pub(super) fn place(&self, read: &Range<usize>) -> Range<usize> {
        let start = self.piece(read.start).map_or(read.start, |piece| {
            let is_inside = read.start < piece.read.end;
            if is_inside { piece.text.start } else { piece.text.end + read.start - piece.read.end }
        });
        let last = read.end.saturating_sub(1);
        let end = self
            .piece(last)
            .map_or(read.end, |piece| piece.text.end + read.end.saturating_sub(piece.read.end));
        start..end
    }

    /// The last piece that begins at this byte or before it.
    fn piece(&self, at: usize) -> Option<&Piece> {
        let behind = self.pieces.partition_point(|piece| piece.read.start <= at);
        self.pieces.get(behind.checked_sub(1)?)
    }

    fn add(&mut self, bytes: &[u8], text: Range<usize>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { read: start..self.bytes.len(), text });
    }
}

/// An escape at the start of a text.
struct Escape {
    stands_for: Unit,
    length: usize,
}

enum Unit {
    Byte(u8),
    Character(char),
}

impl Escape {
    fn read(text: &[u8]) -> Option<Escape> {
        match *text {
            [b'\\', b'u', b'{', ..] => {
                let (digits, code) = number(text.get(3..)?, 16, 6)?;
                let is_closed = text.get(3 + digits) == Some(&b'}');
                is_closed.then_some(())?;
                Escape::character(code, digits + 4)
            }
            [b'\\', b'u', ..] => Escape::utf16(text),
            [b'\\', b'x' | b'X', high, low, ..] => Escape::byte(pair(high, low)?, 4),
            // Shells and Go write bytes in octal digits.
            [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => {
                let (_, byte) = number(text.get(1..)?, 8, 3)?;
                Escape::byte(u8::try_from(byte).ok()?, 4)
            }
            [b'\\', letter, ..] => Escape::byte(escaped_letter(letter)?, 2),
            [b'%', high, low, ..] => Escape::byte(pair(high, low)?, 3),
            [b'&', b'#', b'x' | b'X', ..] => Escape::reference(text, 3, 16),
            [b'&', b'#', ..] => Escape::reference(text, 2, 10),
            [b'&', ..] => Escape::named(text),
            _ => None,
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "reads as one of the cases of `read`")]
    fn byte(byte: u8, length: usize) -> Option<Escape> {
        Some(Escape { stands_for: Unit::Byte(byte), length })
    }

    fn character(code: u32, length: usize) -> Option<Escape> {
        Some(Escape { stands_for: Unit::Character(char::from_u32(code)?), length })
    }

    /// RFC 8259, 7: four digits, and two escapes for a character beyond the first 65,536.
    fn utf16(text: &[u8]) -> Option<Escape> {
        let unit = |at: usize| match text.get(at..at + 6)? {
            [b'\\', b'u', digits @ ..] => number(digits, 16, 4).filter(|(length, _)| *length == 4),
            _ => None,
        };
        let (_, first) = unit(0)?;
        let (0xd800..=0xdbff, Some((_, second @ 0xdc00..=0xdfff))) = (first, unit(6)) else {
            return Escape::character(first, 6);
        };
        Escape::character(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
    }

    /// `&#47;`, `&#x2f;`; browsers read it without its semicolon as well.
    fn reference(text: &[u8], start: usize, base: u32) -> Option<Escape> {
        let (digits, code) = number(text.get(start..)?, base, MOST_REFERENCE_DIGITS)?;
        let end = start + digits;
        Escape::character(code, end + usize::from(text.get(end) == Some(&b';')))
    }

    fn named(text: &[u8]) -> Option<Escape> {
        let name = text.get(1..)?;
        let end = name.iter().take(LONGEST_NAME + 1).position(|byte| *byte == b';')?;
        let name = name.get(..end)?;
        let (_, byte) = NAMES.iter().find(|(known, _)| known.as_bytes() == name)?;
        Escape::byte(*byte, end + 2)
    }

    fn bytes<'b>(&self, buffer: &'b mut [u8; 4]) -> &'b [u8] {
        match self.stands_for {
            Unit::Byte(byte) => {
                *buffer = [byte, 0, 0, 0];
                buffer.get(..1).unwrap_or_default()
            }
            Unit::Character(character) => character.encode_utf8(buffer).as_bytes(),
        }
    }
}

/// What stands behind a backslash in JSON and most languages.
fn escaped_letter(letter: u8) -> Option<u8> {
    match letter {
        b'/' | b'\\' | b'"' | b'\'' => Some(letter),
        b'b' => Some(8),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

fn digit(byte: u8, base: u32) -> Option<u32> {
    char::from(byte).to_digit(base)
}

fn pair(high: u8, low: u8) -> Option<u8> {
    u8::try_from(digit(high, 16)? * 16 + digit(low, 16)?).ok()
}

/// At least one digit and at most `most`: how many, and their value.
fn number(text: &[u8], base: u32, most: usize) -> Option<(usize, u32)> {
    let digits = text.iter().take(most).map_while(|byte| digit(*byte, base));
    let (length, value) = digits.fold((0, 0_u32), |(length, value), digit| {
        (length + 1, value.saturating_mul(base).saturating_add(digit))
    });
    (length > 0).then_some((length, value))
}

#[derive(Clone, Copy)]
enum Base {
    /// Two digits a byte, one or several bytes a number, perhaps with `0x` before it.
    Hexadecimal,
    Decimal,
}

/// Where the next number begins that is no part of a word.
fn next_number(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let mut before = from.checked_sub(1).and_then(|at| text.get(at)).copied();
    let at = rest.iter().position(|byte| {
        let is_inside = before.is_some_and(|byte| byte.is_ascii_alphanumeric());
        before = Some(*byte);
        !is_inside && byte.is_ascii_hexdigit()
    })?;
    Some(from + at)
}

/// The numbers from here on, as long as only separators are between them.
fn list_at(text: &[u8], start: usize, base: Base) -> Reading {
    let mut list = Reading::default();
    let mut at = start;
    while let Some((bytes, length)) = text.get(at..).and_then(|rest| list_item(rest, base)) {
        list.add(&bytes, at..at + length);
        let end = at + length;
        let is_separator = |byte: &&u8| b" \t:,;-._|".contains(*byte);
        let between = text.get(end..).unwrap_or_default().iter().take(2);
        let separators = between.take_while(is_separator).count();
        if separators == 0 {
            break;
        }
        at = end + separators;
    }
    list
}

/// A number at the start of the text, as bytes, and its length there.
fn list_item(text: &[u8], base: Base) -> Option<(Vec<u8>, usize)> {
    let digits_of =
        |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    match base {
        Base::Decimal => {
            let length = digits_of(text);
            let (digits, value) = number(text, 10, 3)?;
            Some((vec![u8::try_from(value).ok()?], length)).filter(|_| digits == length)
        }
        Base::Hexadecimal => {
            let prefix = if matches!(text, [b'0', b'x' | b'X', ..]) { 2 } else { 0 };
            let digits = text.get(prefix..)?;
            let digits = digits.get(..digits_of(digits))?;
            let is_even =
                (2..=MOST_DIGITS).contains(&digits.len()) && digits.len().is_multiple_of(2);
            is_even.then_some(())?;
            let bytes: Option<Vec<u8>> = digits
                .chunks_exact(2)
                .map(|digits| match *digits {
                    [high, low] => pair(high, low),
                    _ => None,
                })
                .collect();
            Some((bytes?, prefix + digits.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    #[test]
    fn escapes_are_undone() {
        for (text, expected) in [
            (r"a\/b\\c\u0064\u{65}\x66", "a/b\\cdef"),
            (r"\ud83d\ude00 \u00E9", "😀 é"),
            ("&lt;&amp;&#47;&#x2F;&#0047;&#X2fx&sol;", "<&////x/"),
            ("%2F%c3%a9 100% &c; \\q", "/é 100% &c; \\q"),
            // No escapes: what is left stands for itself.
            (
                r"\/ \ud83d \u12 \x1 %g0 &; &#; &#x; &nosuchname; \u{} \u{110000}",
                "/ \\ud83d \\u12 \\x1 %g0 &; &#; &#x; &nosuchname; \\u{} \\u{110000}",
            ),
        ] {
            let read = Reading::unescaped(text.as_bytes()).unwrap().bytes;
            assert_eq!(String::from_utf8_lossy(&read), expected, "{text}");
        }
        assert!(Reading::unescaped("plain & simple: 100 %, C:".as_bytes()).is_none());
    }

    #[test]
    fn a_part_of_a_reading_is_found_in_the_text() {
        let text = r"x=ab\/c&amp;d.";
        let read = Reading::unescaped(text.as_bytes()).unwrap();
        assert_eq!(read.bytes, b"x=ab/c&d.");
        for (part, expected) in [
            (0..2, "x="),
            (2..5, r"ab\/"),
            (4..6, r"\/c"),
            (5..8, "c&amp;d"),
            (6..7, "&amp;"),
            (7..9, "d."),
        ] {
            assert_eq!(text.get(read.place(&part)), Some(expected), "{part:?}");
        }
    }

    #[test]
    fn lists_of_numbers_are_bytes() {
        let hunter = b"hunter".as_slice();
        for text in [
            "68:75:6e:74:65:72",
            "<Buffer 68 75 6E 74 65 72>",
            "68-75-6e-74-65-72",
            "[0x68, 0x75, 0x6e, 0x74, 0x65, 0x72]",
            "6875 6e74 6572",
            "Vec [104, 117, 110, 116, 101, 114]",
            "{\"data\":[104,117,110,116,101,114]}",
        ] {
            let lists = Reading::lists(text.as_bytes());
            assert!(lists.iter().any(|list| list.bytes == hunter), "{text}");
        }
        for text in
            ["68:75:6e", "face to face", "687 56 e74 657", "12:30", "68x75x6e74", "a 1,000,000 b"]
        {
            assert!(Reading::lists(text.as_bytes()).is_empty(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_place_is_in_the_text(
            text in r"([\\/u&#;x%:, a-f0-9{}]|amp|0x){0,60}", from in any::<usize>(), to in any::<usize>(),
        ) {
            let lists = Reading::lists(text.as_bytes());
            for read in Reading::unescaped(text.as_bytes()).into_iter().chain(lists) {
                let mut part = [from % (read.bytes.len() + 1), to % (read.bytes.len() + 1)];
                part.sort_unstable();
                if part[0] < part[1] {
                    let place = read.place(&(part[0]..part[1]));
                    prop_assert!(place.start < place.end && text.get(place).is_some());
                }
            }
        }
    }
}
