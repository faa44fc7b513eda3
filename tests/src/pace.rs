//! Reading slowly: so many bytes, then a pause.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Most bytes of one read.
    pub bytes: usize,
    /// After every read.
    pub pause: Duration,
}

impl Pace {
    /// This pace for all of `readers` together.
    #[must_use]
    pub fn shared_by(self, readers: u32) -> Self {
        Self { pause: self.pause * readers, ..self }
    }

    /// The socket takes in little beyond what is read: otherwise the system reads ahead.
    pub fn limit(self, stream: &TcpStream) {
        // A system that does not want to: then it reads ahead.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(stream, self.bytes);
    }

    /// As a script has it.
    pub fn script(self) -> Value {
        json!({ "bytes": self.bytes, "pause_us": self.pause.as_micros() as u64 })
    }

    pub fn from_script(value: &Value) -> Option<Self> {
        let bytes = usize::try_from(value["bytes"].as_u64()?).ok()?;
        Some(Self { bytes, pause: Duration::from_micros(value["pause_us"].as_u64()?) })
    }
}

impl std::fmt::Display for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} KiB each {} ms", self.bytes >> 10, self.pause.as_secs_f64() * 1000.0)
    }
}

/// A reader at this pace, or as fast as it comes.
#[derive(Debug)]
pub struct Paced<R> {
    inner: R,
    pace: Option<Pace>,
}

impl<R> Paced<R> {
    pub fn new(inner: R, pace: Option<Pace>) -> Self {
        Self { inner, pace }
    }

    pub fn inner(&self) -> &R {
        &self.inner
    }
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(Pace { bytes, pause }) = self.pace else { return self.inner.read(room) };
        let most = bytes.min(room.len());
        let count = self.inner.read(&mut room[..most])?;
        std::thread::sleep(pause);
        Ok(count)
    }
}
