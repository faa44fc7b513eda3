//! Where the audit log is written besides the store: one JSON object a line, to a file or to syslog.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::UdpSocket;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::Value;

/// Where lines are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineExport {
    File(PathBuf),
    /// A datagram socket of this machine, `/dev/log` for most.
    SyslogSocket(PathBuf),
    /// `host:port`, over UDP.
    SyslogUdp(String),
}

/// Facility "log audit" (13), severity "informational" (6): RFC 5424, 6.2.1.
const PRIORITY: u8 = 13 * 8 + 6;

/// The last line of a file stands in it: a record has some hundred bytes, and at most a few thousand.
const TAIL: u64 = 64 * 1024;

impl LineExport {
    /// `file:PATH`, `syslog:/dev/log` or `syslog:HOST:PORT`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once(':')? {
            ("file", path) if !path.is_empty() => Some(Self::File(path.into())),
            ("syslog", path) if path.starts_with('/') => Some(Self::SyslogSocket(path.into())),
            ("syslog", place) if is_host_and_port(place) => Some(Self::SyslogUdp(place.to_owned())),
            _ => None,
        }
    }

    /// Can it be written to, as far as can be said before there is anything to write?
    pub(super) fn check(&self) -> Result<(), String> {
        let Self::File(path) = self else { return Ok(()) };
        let is_other = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        match is_other {
            true => Err(format!("{} {NO_FILE}", path.display())),
            false => Ok(()),
        }
    }

    /// Does it continue where it was after a restart?
    pub(super) fn is_remembering(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// The number of the last record that was passed on; only a file remembers it.
    pub(super) fn last_seq(&self) -> Option<i64> {
        let Self::File(path) = self else { return None };
        let last = last_line(path)?;
        serde_json::from_str::<Value>(&last).ok()?.get("seq")?.as_i64()
    }

    /// All of these, or an error. Over syslog nobody says whether they have arrived.
    pub(super) fn write(&self, records: &[Value]) -> io::Result<()> {
        match self {
            Self::File(path) => append(path, records),
            Self::SyslogSocket(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                records.iter().try_for_each(|record| socket.send(&syslog(record)).map(drop))
            }
            Self::SyslogUdp(place) => {
                let local = if place.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
                let socket = UdpSocket::bind(local)?;
                socket.connect(place)?;
                records.iter().try_for_each(|record| socket.send(&syslog(record)).map(drop))
            }
        }
    }
}

/// Adds lines to a file that only its owner can read. They are on the disk when this returns.
pub(super) fn append(path: &Path, records: &[Value]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = open(options.create(true).append(true).read(true).mode(0o600), path)?;
    let mut lines = String::new();
    // A line that a crash has cut off ends here.
    if file.metadata()?.len() > 0 && !ends_line(&mut file)? {
        lines.push('\n');
    }
    lines.extend(records.iter().map(|record| format!("{record}\n")));
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

const NO_FILE: &str =
    "is no regular file: only one can be read again, to go on behind its last record";

/// Without waiting for whoever reads a pipe.
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other(format!("{} {NO_FILE}", path.display()))),
    }
}

fn ends_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// The last whole line; what a crash has cut off does not count.
pub(super) fn last_line(path: &Path) -> Option<String> {
    let mut file = open(OpenOptions::new().read(true), path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    // The text behind the last line end is empty, or a line that was cut off.
    let (whole, _) = tail.rsplit_once('\n')?;
    whole.rsplit('\n').next().map(str::to_owned)
}

/// RFC 5424: time and host are left to the receiver, which knows both; the record has its own time.
fn syslog(record: &Value) -> Vec<u8> {
    format!("<{PRIORITY}>1 - - trunkline {} audit - {record}", std::process::id()).into_bytes()
}

fn is_host_and_port(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scratch::Folder;

    #[test]
    fn places_are_read() {
        let file = LineExport::File("/var/log/a.ndjson".into());
        for (text, expected) in [
            ("file:/var/log/a.ndjson", Some(file)),
            ("syslog:/dev/log", Some(LineExport::SyslogSocket("/dev/log".into()))),
            ("syslog:h:514", Some(LineExport::SyslogUdp("h:514".to_owned()))),
            ("syslog:[::1]:514", Some(LineExport::SyslogUdp("[::1]:514".to_owned()))),
            ("syslog:h", None),
            ("file:", None),
            ("otlp", None),
            ("", None),
        ] {
            assert_eq!(LineExport::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_file_knows_its_last_whole_record() {
        let folder = Folder::new();
        let path = folder.path().join("audit.ndjson");
        let export = LineExport::File(path.clone());
        assert_eq!(export.last_seq(), None);
        export.write(&[json!({"seq": 1}), json!({"seq": 2})]).unwrap();
        export.write(&[json!({"seq": 3})]).unwrap();
        assert_eq!(export.last_seq(), Some(3));
        let mut cut = std::fs::read_to_string(&path).unwrap();
        cut.push_str("{\"seq\": 4");
        std::fs::write(&path, cut).unwrap();
        assert_eq!(export.last_seq(), Some(3));
        export.write(&[json!({"seq": 4})]).unwrap();
        assert_eq!(export.last_seq(), Some(4));
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("4\n{\"seq\":4}\n"));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = Folder::new();
        let path = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        let export = LineExport::File(path);
        assert!(export.check().unwrap_err().contains("pipe is no regular file"));
        assert_eq!(export.last_seq(), None);
        let refused = export.write(&[json!({"seq": 1})]).unwrap_err();
        assert!(refused.to_string().contains("pipe is no regular file"), "{refused}");
        for fine in
            [LineExport::File(folder.path().join("new")), LineExport::SyslogUdp("h:1".into())]
        {
            assert_eq!(fine.check(), Ok(()));
        }
    }

    #[test]
    fn a_record_is_one_datagram() {
        let folder = Folder::new();
        let path = folder.path().join("log");
        let log = UnixDatagram::bind(&path).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let place = udp.local_addr().unwrap().to_string();
        for export in [LineExport::SyslogSocket(path), LineExport::SyslogUdp(place)] {
            export.write(&[json!({"seq": 7})]).unwrap();
        }
        let (mut one, mut other) = ([0; 200], [0; 200]);
        let (first, second) = (log.recv(&mut one).unwrap(), udp.recv(&mut other).unwrap());
        let texts = [&one[..first], &other[..second]]
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        for text in texts {
            assert!(text.starts_with("<110>1 - - trunkline "), "{text}");
            assert!(text.ends_with(" audit - {\"seq\":7}"), "{text}");
        }
    }
}
