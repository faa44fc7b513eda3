//! The list of what is over its limit today, which may only become shorter.

use super::{Excess, Law, stale};

/// One line each: law, name, number.
pub(super) const FILE: &str = "xtask/exceptions.txt";

const HEAD: &str =
    "# What is over a limit of `cargo xtask tidy`: law, name, number. It may only shrink.\n";

pub(super) struct Exceptions(Vec<Excess>);

impl Exceptions {
    pub(super) fn exist() -> bool {
        std::path::Path::new(FILE).exists()
    }

    pub(super) fn of(found: Vec<Excess>) -> Self {
        Self(found)
    }

    pub(super) fn read() -> Result<Self, String> {
        let text = std::fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let parsed = lines.map(|line| {
            let (law, rest) = line.split_once(' ')?;
            let (name, number) = rest.rsplit_once(' ')?;
            let law = Law::ALL.into_iter().find(|it| it.word() == law)?;
            Some(Excess { law, name: name.to_owned(), number: number.parse().ok()? })
        });
        let whole: Option<Vec<Excess>> = parsed.collect();
        whole.map(Self).ok_or_else(|| format!("{FILE}: a line is not `LAW NAME NUMBER`"))
    }

    /// What the product breaks beyond these, and which of these it no longer needs.
    pub(super) fn judge(&self, found: &[Excess]) -> Vec<String> {
        let same = |a: &Excess, b: &Excess| a.law == b.law && a.name == b.name;
        let mut faults = Vec::new();
        for excess in found {
            let allowed = self.0.iter().find(|it| same(it, excess)).map_or(0, |it| it.number);
            if excess.number > allowed {
                faults.push(excess.to_string());
            }
        }
        for exception in &self.0 {
            if !found.iter().any(|it| same(it, exception) && it.number >= exception.number) {
                faults.push(stale(exception));
            }
        }
        faults
    }

    /// The list for what was found. A thing may have another name than before, but of each law the
    /// worst is no worse, the second no worse, and so on.
    pub(super) fn shrink_to(&self, found: &[Excess]) -> Result<Self, String> {
        for law in Law::ALL {
            let numbers = |of: &[Excess]| {
                let mut numbers: Vec<usize> =
                    of.iter().filter(|it| it.law == law).map(|it| it.number).collect();
                numbers.sort_by_key(|number| std::cmp::Reverse(*number));
                numbers
            };
            let (before, now) = (numbers(&self.0), numbers(found));
            let is_worse = now.len() > before.len() || now.iter().zip(&before).any(|(n, b)| n > b);
            if is_worse {
                let worse = self.judge(found).into_iter().filter(|it| !it.starts_with(FILE));
                let worse: Vec<String> = worse.collect();
                return Err(format!(
                    "{}: exceptions may only shrink\n{}",
                    law.word(),
                    worse.join("\n")
                ));
            }
        }
        Ok(Self::of(found.to_vec()))
    }

    pub(super) fn write(&self) -> Result<(), String> {
        let lines =
            self.0.iter().map(|it| format!("{} {} {}\n", it.law.word(), it.name, it.number));
        let text = format!("{HEAD}{}", lines.collect::<String>());
        std::fs::write(FILE, text).map_err(|error| format!("{FILE}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(law: Law, name: &str, number: usize) -> Excess {
        Excess { law, name: name.to_owned(), number }
    }

    #[test]
    fn an_exception_that_is_exceeded_or_no_longer_needed_is_an_error() {
        let list = Exceptions::parse("# head\nmethods gateway Connection 60\n").unwrap();
        let connection = |number| excess(Law::Methods, "gateway Connection", number);
        assert_eq!(list.judge(&[connection(60)]), Vec::<String>::new());
        assert!(list.judge(&[connection(61)])[0].contains("61, at most 45"));
        assert!(list.judge(&[connection(59)])[0].contains("no longer so"));
        assert!(list.judge(&[])[0].contains("no longer so"));
        let other = list.judge(&[connection(60), excess(Law::Fields, "gateway Server", 20)]);
        assert!(other[0].contains("gateway Server: 20, at most 15"));
        assert!(Exceptions::parse("methods 7\n").is_err());
    }

    #[test]
    fn the_list_may_only_become_shorter_whatever_things_are_called() {
        let list = Exceptions::parse("methods a A 60\nmethods b B 50\n").unwrap();
        for (found, is_allowed) in [
            (vec![excess(Law::Methods, "a A", 60)], true),
            (vec![excess(Law::Methods, "c Renamed", 60), excess(Law::Methods, "b B", 50)], true),
            (vec![excess(Law::Methods, "a A", 50), excess(Law::Methods, "b B", 50)], true),
            (vec![excess(Law::Methods, "a A", 61)], false),
            (vec![excess(Law::Methods, "a A", 60), excess(Law::Methods, "b B", 51)], false),
            (vec![excess(Law::Fields, "a A", 16)], false),
        ] {
            assert_eq!(list.shrink_to(&found).is_ok(), is_allowed, "{found:?}");
        }
    }
}
