//! A program at a terminal of its own, as a person would run it: what the screen shows, and typing.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::inbox::Spoken;
use crate::limit::Limit;
use crate::{GLANCE, LIMIT, bin, signals};

/// Dropping it kills the program.
#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    screen: Arc<Spoken>,
    child: Child,
}

impl Terminal {
    /// Starts the program with all three streams on a terminal of 80 columns.
    #[track_caller]
    pub fn spawn(command: &Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("it can be used");
        unlockpt(&master).expect("it can be opened");
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("it has a size");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        // A process gets a controlling terminal by opening it as the leader of a session: our
        // own program does that and then becomes the other.
        let mut sitting = Command::new(bin::fake_mcp());
        sitting.arg("--terminal").arg(name.to_string_lossy().into_owned());
        sitting.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => sitting.env(name, value),
                None => sitting.env_remove(name),
            };
        }
        sitting = signals::heeded(sitting);
        sitting.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = sitting.spawn().expect("a program can be started");
        let keyboard = File::from(master);
        let screen = Spoken::fill_from(keyboard.try_clone().expect("a terminal can be shared"));
        Self { keyboard, screen, child }
    }

    /// Types this text.
    pub fn write(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the terminal takes what is typed");
    }

    /// The program's process.
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Everything the screen has shown so far.
    pub fn shown(&self) -> String {
        self.screen.text()
    }

    /// What it has shown but for the line that counts the servers which start: that comes on a slow machine, and
    /// is erased.
    pub fn remains(&self) -> String {
        let shown = self.shown();
        let mut pieces = shown.split("\r\u{1b}[K");
        let first = pieces.next().unwrap_or_default().to_owned();
        first + &pieces.filter(|piece| !piece.starts_with("starting servers: ")).collect::<String>()
    }

    /// Waits until the screen has shown this.
    #[track_caller]
    pub fn wait(&self, part: &str) {
        let there = self.screen.wait(LIMIT, |text| text.contains(part));
        assert!(there, "the screen does not show {part:?}: {}", self.shown());
    }

    /// The exit code, once it has ended and all it wrote is on the screen.
    #[track_caller]
    pub fn finish(&mut self) -> Option<i32> {
        let deadline = Limit::from(LIMIT).begin();
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None => assert!(!deadline.is_over(), "no exit: {}", self.shown()),
            }
            std::thread::sleep(GLANCE);
        };
        // The terminal ends when its last user has; what the program has left behind may be one.
        self.screen.ended(Duration::from_secs(5));
        status.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The other side: takes its place at the terminal and becomes the program.
pub(crate) fn sit(terminal: &str, program: &str, arguments: &[&str]) {
    rustix::process::setsid().expect("a started process leads no group");
    let seat = OpenOptions::new().read(true).write(true).open(terminal).expect("the terminal");
    rustix::stdio::dup2_stdin(&seat).expect("stdin can be replaced");
    rustix::stdio::dup2_stdout(&seat).expect("stdout can be replaced");
    rustix::stdio::dup2_stderr(&seat).expect("stderr can be replaced");
    drop(seat);
    panic!("cannot become {program}: {}", Command::new(program).args(arguments).exec());
}
