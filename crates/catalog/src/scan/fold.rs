//! Characters as a reader takes them: without what is invisible, look-alikes as the letter they look like.

use crate::name::is_hidden;

/// The character that a reader takes this one for, in lower case. `None`: a reader does not see it.
pub(super) fn fold(c: char) -> Option<char> {
    if c.is_ascii() {
        return (!c.is_ascii_control() || c.is_ascii_whitespace()).then(|| c.to_ascii_lowercase());
    }
    if is_hidden(c) {
        return None;
    }
    let plain = compatible(c);
    Some(plain.to_lowercase().next().unwrap_or(plain))
}

/// Full-width and mathematical letters are letters of another shape.
fn compatible(c: char) -> char {
    let code = u32::from(c);
    let ascii = match code {
        0xff01..=0xff5e => code - 0xfee0,
        // Mathematical alphabets: 26 capitals and 26 small letters each.
        0x1d400..=0x1d6a3 => {
            let place = (code - 0x1d400) % 52;
            if place < 26 { 0x41 + place } else { 0x61 + place - 26 }
        }
        0x1d7ce..=0x1d7ff => 0x30 + (code - 0x1d7ce) % 10,
        0x2019 | 0x2018 | 0x02bc => 0x27,
        0xa0 | 0x2000..=0x200a | 0x202f | 0x3000 => 0x20,
        _ => return c,
    };
    char::from_u32(ascii).unwrap_or(c)
}

/// The Latin letter that a Cyrillic, Greek or other one looks like.
pub(super) fn latin_twin(c: char) -> Option<char> {
    Some(match c {
        'а' | 'α' | 'ɑ' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | 'є' | '℮' => 'e',
        'ғ' => 'f',
        'ɡ' => 'g',
        'н' | 'һ' => 'h',
        'і' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'ո' | 'η' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        _ => return None,
    })
}

/// Does the word mix Latin letters with look-alikes of other scripts?
pub(super) fn is_mixed(word: &str) -> bool {
    let mut latin = 0;
    let mut twins = 0;
    let mut others = false;
    for c in word.chars() {
        let lower = c.to_lowercase().next().unwrap_or(c);
        match lower {
            'a'..='z' => latin += 1,
            _ if latin_twin(lower).is_some() && !lower.is_ascii() => twins += 1,
            // A letter that looks like no Latin one: a word of that script, in which a Latin letter slipped.
            _ if is_foreign(lower) => others = true,
            _ => {}
        }
    }
    // A symbol of a formula beside a letter is no disguise.
    latin > 1 && twins > 0 && latin + twins > 3 && !others
}

fn is_foreign(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{58f}')
}

/// What the name looks like: names with the same skeleton can be taken for each other.
pub(super) fn skeleton(name: &str) -> String {
    let folded = name.chars().filter_map(fold);
    let letters = folded.map(|c| latin_twin(c).unwrap_or(c)).map(|c| match c {
        '1' | 'l' | '|' => 'i',
        '0' => 'o',
        '5' => 's',
        c => c,
    });
    let text: String = letters.filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '/')).collect();
    text.replace("rn", "m").replace("vv", "w")
}
