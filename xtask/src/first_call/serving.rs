//! A `serve` that runs until nobody needs it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

pub(super) struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    /// Starts it, and waits for the line that says where it listens.
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut words = String::new();
        let mut said = child.stderr.take().map(BufReader::new).into_iter();
        let mut address = None;
        if let Some(reader) = said.next() {
            for line in reader.lines().map_while(Result::ok) {
                address = line.split("listening on ").nth(1).map(|it| it.trim().to_owned());
                words.push_str(&format!("{line}\n"));
                if address.is_some() {
                    break;
                }
            }
        }
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                drop(child.kill().and_then(|()| child.wait()));
                Err(format!("it does not listen:\n{words}"))
            }
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill().and_then(|()| self.child.wait()));
    }
}
