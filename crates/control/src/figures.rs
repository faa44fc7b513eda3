//! Counts, times and shares as people read them: one spelling for the dashboard and the command line. Pure.

/// `1234567` → `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Milliseconds, with as many digits as say something.
pub fn millis(time: Option<f64>) -> String {
    match time {
        None => "–".to_owned(),
        Some(time) if time <= 0.0 => "0 ms".to_owned(),
        Some(time) if time < 0.005 => "< 0.01 ms".to_owned(),
        Some(time) if time < 0.95 => format!("{time:.2} ms"),
        Some(time) if time < 9.95 => format!("{time:.1} ms"),
        Some(time) if time < 999.5 => format!("{time:.0} ms"),
        Some(time) if time < 59_950.0 => format!("{:.1} s", time / 1_000.0),
        Some(time) => format!("{:.0} min", time / 60_000.0),
    }
}

/// From 0 to 1.
pub fn share(share: Option<f64>) -> String {
    match share {
        None => "–".to_owned(),
        Some(0.0) => "0 %".to_owned(),
        Some(share) if share < 0.0005 => "< 0.1 %".to_owned(),
        Some(share) if share < 0.0995 => format!("{:.1} %", share * 100.0),
        Some(share) => format!("{:.0} %", share * 100.0),
    }
}

/// `1 server`, `2 servers`.
pub fn plural(number: u64, word: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {word}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), expected);
        }
        for (time, expected) in [
            (None, "–"),
            (Some(0.0), "0 ms"),
            (Some(0.001), "< 0.01 ms"),
            (Some(0.123), "0.12 ms"),
            (Some(1.0), "1.0 ms"),
            (Some(12.34), "12 ms"),
            (Some(999.4), "999 ms"),
            (Some(1_234.0), "1.2 s"),
            (Some(59_949.0), "59.9 s"),
            (Some(59_950.0), "1 min"),
            (Some(120_000.0), "2 min"),
        ] {
            assert_eq!(millis(time), expected);
        }
        for (of, expected) in [
            (None, "–"),
            (Some(0.0), "0 %"),
            (Some(0.0001), "< 0.1 %"),
            (Some(0.012), "1.2 %"),
            (Some(0.5), "50 %"),
            (Some(1.0), "100 %"),
        ] {
            assert_eq!(share(of), expected);
        }
        assert_eq!((&*plural(1, "tool"), &*plural(2_000, "tool")), ("1 tool", "2,000 tools"));
    }
}
