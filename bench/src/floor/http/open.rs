//! Opens every server, one after the other and waiting for each: starting is not what this floor is measured for.

use super::exchange::Exchange;
use super::server::{Pipes, Pool, Server};
use super::socket::Socket;
use super::{PROTOCOL, SEPARATOR};
use crate::era::Era;
use crate::floor::outbox::Outbox;
use crate::floor::{catalog, children, config, modern};
use crate::http::{Inbox, Message};
use crate::lines::Lines;
use rustix::io::ioctl_fionbio;
use std::error::Error;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::Child;

/// Everything that is needed to serve clients.
pub(super) struct Opened {
    pub(super) exchange: Exchange,
    pub(super) processes: Vec<Child>,
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

pub(super) fn all(configured: &[config::Server]) -> Result<Opened, Box<dyn Error>> {
    let mut processes = Vec::new();
    let (mut servers, mut connections, mut lists) = (Vec::new(), Vec::new(), Vec::new());
    let mut era = Era::Legacy;
    for entry in configured {
        let (server, list) = if let Some(url) = &entry.url {
            let (mut pool, socket, list) =
                over_http(url).map_err(|error| format!("{url}: {error}"))?;
            pool.idle.push(connections.len());
            connections.push((socket, servers.len()));
            if pool.era == Era::Modern {
                era = Era::Modern;
            }
            (Server::Http(pool), list)
        } else {
            let mut process = children::start_one(entry)?;
            let (pipes, spoken, list) = over_pipes(&mut process)?;
            if spoken == Era::Modern {
                era = Era::Modern;
            }
            processes.push(process);
            (Server::Pipes(pipes), list)
        };
        servers.push(server);
        lists.push(list);
    }
    let names: Vec<_> = configured.iter().map(|entry| entry.name.clone().into_bytes()).collect();
    let list = catalog::serialise(SEPARATOR, era, &names, &lists);
    Ok(Opened { exchange: Exchange::new(names, servers, connections, list), processes })
}

fn initialize() -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{protocol}","#,
            r#""capabilities":{{}},"clientInfo":{{"name":"bench-floor","version":"1"}}}}}}"#,
        ),
        protocol = PROTOCOL
    )
}

fn modern_list() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1{}"#, modern::list())
}

fn over_pipes(process: &mut Child) -> Result<(Pipes, Era, Vec<u8>), Box<dyn Error>> {
    let mut input = process.stdin.take().ok_or("no stdin")?;
    let output = OwnedFd::from(process.stdout.take().ok_or("no stdout")?);
    let mut lines = Lines::default();
    let mut ask = |message: String| -> Result<Vec<u8>, Box<dyn Error>> {
        input.write_all(message.as_bytes())?;
        loop {
            if let Some(span) = lines.next_line() {
                return Ok(lines.bytes()[span].to_vec());
            }
            if lines.fill(&output)? == 0 {
                return Err("a server ended".into());
            }
        }
    };
    let (era, list) = if modern::refused(&ask(format!("{}\n", initialize()))?) {
        (Era::Modern, ask(format!("{}\n", modern_list()))?)
    } else {
        (Era::Legacy, ask(format!("{INITIALIZED}\n{LIST}\n"))?)
    };
    let input = OwnedFd::from(input);
    ioctl_fionbio(&input, true)?;
    Ok((Pipes { input: Outbox::new(input), output, lines }, era, list))
}

fn over_http(url: &str) -> Result<(Pool, Socket, Vec<u8>), Box<dyn Error>> {
    let mut pool = Pool::new(url).ok_or("only http://HOST:PORT/PATH is understood")?;
    let mut stream = TcpStream::connect(&pool.authority)?;
    let mut inbox = Inbox::default();
    let opened = post(&mut stream, &mut inbox, &pool.head, &initialize())?;
    let listed = if modern::refused(&inbox.bytes()[opened.body]) {
        post(&mut stream, &mut inbox, &pool.modernise(), &modern_list())?
    } else {
        pool.enter(&inbox.bytes()[opened.named.session]);
        post(&mut stream, &mut inbox, &pool.head, INITIALIZED)?;
        post(&mut stream, &mut inbox, &pool.head, LIST)?
    };
    let list = inbox.bytes()[listed.body].to_vec();
    Ok((pool, Socket::new(stream)?, list))
}

fn post(
    stream: &mut TcpStream,
    inbox: &mut Inbox,
    head: &[u8],
    body: &str,
) -> Result<Message, Box<dyn Error>> {
    let mut frame = head.to_vec();
    frame.extend_from_slice(format!("{}\r\n\r\n{body}", body.len()).as_bytes());
    stream.write_all(&frame)?;
    loop {
        if let Some(message) = inbox.next_message().map_err(|_| "it does not speak HTTP")? {
            return Ok(message);
        }
        if inbox.fill(&*stream)? == 0 {
            return Err("it closed the connection".into());
        }
    }
}
