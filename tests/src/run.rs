//! A program that is run to its end: its exit code, and what it wrote to the byte.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::limit::Limit;
use crate::{GLANCE, LIMIT};

/// What a program that has ended leaves behind.
#[derive(Debug)]
pub struct Done {
    /// `None`: ended by a signal.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
    shown: String,
}

/// Starts the program, gives it this input, and waits for its end.
#[track_caller]
pub fn run(mut command: Command, input: &[u8]) -> Done {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{shown}: {error}"));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = input.to_vec();
    // A program need not read all of its input.
    let feed = move || stdin.map(|mut pipe| drop(pipe.write_all(&input)));
    std::thread::spawn(feed);
    let (stdout, stderr) = (drained(stdout), drained(stderr));
    let code = wait(&mut child, &shown);
    let bytes = |reader: JoinHandle<Vec<u8>>| reader.join().expect("a reader does not panic");
    let stderr = String::from_utf8_lossy(&bytes(stderr)).into_owned();
    Done { code, stdout: bytes(stdout), stderr, shown }
}

impl Done {
    /// It went well and had nothing to complain about; its output.
    #[track_caller]
    pub fn good(&self) -> &[u8] {
        assert_eq!(self.code, Some(0), "{self}");
        assert_eq!(self.stderr, "", "{self}");
        &self.stdout
    }

    /// [`Done::good`] as text.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(self.good()).unwrap_or_else(|_| panic!("not text: {self}"))
    }

    /// It ended with this code, said each of these on stderr and nothing on stdout.
    #[track_caller]
    pub fn bad(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self}");
        }
        assert!(self.stdout.is_empty(), "{self}");
    }

    /// Neither output has this text.
    #[track_caller]
    pub fn hides(&self, secret: &str) {
        let stdout = String::from_utf8_lossy(&self.stdout);
        assert!(!self.stderr.contains(secret) && !stdout.contains(secret), "shown: {self}");
    }
}

/// For the message of a failed test.
impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, stdout, stderr, shown } = self;
        let stdout = String::from_utf8_lossy(&stdout[..stdout.len().min(2000)]);
        write!(f, "{shown}\n-- code: {code:?}\n-- stdout: {stdout}\n-- stderr: {stderr}")
    }
}

fn drained(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before an error is what there is.
            drop(pipe.read_to_end(&mut bytes));
        }
        bytes
    })
}

#[track_caller]
fn wait(child: &mut Child, shown: &str) -> Option<i32> {
    let deadline = Limit::from(LIMIT).begin();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) if !deadline.is_over() => std::thread::sleep(GLANCE),
            Ok(None) => {
                drop(child.kill());
                drop(child.wait());
                panic!("no exit within {deadline}: {shown}");
            }
            Err(error) => panic!("cannot wait for {shown}: {error}"),
        }
    }
}
