//! Proxies: one of the kit's own, which commits faults when told to, and real ones of the system.
//!
//! The kit's speaks HTTP (CONNECT and whole URLs) and SOCKS5 at one port, like some real ones.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::client::Client;
use crate::room::{MARK, Room};
use crate::{LIMIT, port, process};

/// What a client has asked of the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub how: Manner,
    /// `host:port`
    pub target: String,
    /// What it said about itself: a header's value, or `name:password` of SOCKS.
    pub login: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Connect,
    /// A request with the whole URL.
    Forward,
    Socks,
}

/// What the proxy does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Answers every wish with this status of HTTP.
    Status(u16),
    /// Answers every wish with this reply of SOCKS.
    Reply(u8),
    /// Takes connections and says nothing.
    Hang,
    /// Closes every connection at once.
    Slam,
    /// Passes on what has these words in it, and closes the connection before any answer.
    DropBehind(&'static str),
    /// Does not pass on what has these words in it, and closes the connection.
    Swallow(&'static str),
}

/// Who may use the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admits {
    Everybody,
    /// Whoever says this: as a header's value and as name and password of SOCKS.
    Only {
        header: &'static str,
        socks: &'static str,
    },
}

/// Ends with the test's process.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    admits: Admits,
    /// Where every name leads that is no address.
    names: Option<SocketAddr>,
    fault: Mutex<Option<Fault>>,
    wishes: Mutex<Vec<Wish>>,
    /// Every connection so far, to be closed by `hang_up`.
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub fn start() -> Self {
        Self::with(Admits::Everybody, None)
    }

    /// `names`: where every name leads that is no address.
    pub fn with(admits: Admits, names: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (fault, wishes, open) = (Mutex::default(), Mutex::default(), Mutex::default());
        let state = Arc::new(State { admits, names, fault, wishes, open });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // An error: one of the two sides is gone.
                std::thread::spawn(move || drop(converse(&state, stream)));
            }
        });
        Self { address, state }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on; `None`: it does everything right.
    pub fn commit(&self, fault: Option<Fault>) {
        *self.state.fault.lock().expect("no holder panics") = fault;
    }

    /// Closes every connection, and waits until its client has noticed and closed it, too: what is sent later does not
    /// leave on it.
    pub fn hang_up(&self) {
        let open = std::mem::take(&mut *self.state.open.lock().expect("no holder panics"));
        for stream in &open {
            drop(stream.shutdown(Shutdown::Write));
        }
        for stream in open {
            stream.set_read_timeout(Some(LIMIT)).expect("a timeout can be set");
            // Bytes that nobody has read yet stay for their reader.
            let is_over = || match stream.peek(&mut [0]) {
                Ok(count) => count == 0,
                Err(error) => error.kind() != ErrorKind::WouldBlock,
            };
            process::wait_until("the client has closed its connection", LIMIT, is_over);
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Everything it was asked for so far, oldest first.
    pub fn wishes(&self) -> Vec<Wish> {
        self.state.wishes.lock().expect("no holder panics").clone()
    }
}

impl State {
    fn fault(&self) -> Option<Fault> {
        *self.fault.lock().expect("no holder panics")
    }

    fn note(&self, how: Manner, target: &str, login: Option<&str>) {
        let (target, login) = (target.to_owned(), login.map(str::to_owned));
        self.wishes.lock().expect("no holder panics").push(Wish { how, target, login });
    }

    fn dial(&self, target: &str) -> std::io::Result<TcpStream> {
        let address = match (target.parse(), self.names) {
            (Ok(address), _) => address,
            (Err(_), Some(address)) => address,
            (Err(_), None) => target
                .to_socket_addrs()?
                .find(SocketAddr::is_ipv4)
                .ok_or(std::io::ErrorKind::NotFound)?,
        };
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

fn converse(state: &State, mut client: TcpStream) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    state.open.lock().expect("no holder panics").push(client.try_clone()?);
    match state.fault() {
        Some(Fault::Slam) => return client.shutdown(Shutdown::Both),
        Some(Fault::Hang) => {
            // Until the client has enough.
            std::io::copy(&mut client, &mut std::io::sink())?;
            return Ok(());
        }
        _ => {}
    }
    let mut first = [0];
    client.peek(&mut first)?;
    if first == [5] { socks(state, client) } else { http(state, client) }
}

/// One request: its head, and its body if it says how long that is.
struct Asked {
    method: String,
    target: String,
    version: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    fn read(stream: &mut impl Read) -> std::io::Result<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        let (method, target, version) = (word(), word(), word());
        let fields = lines.filter_map(|line| line.split_once(": "));
        let fields: Vec<_> =
            fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut asked = Self { method, target, version, fields, body: Vec::new() };
        let length = asked.field("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        asked.body.resize(length, 0);
        stream.read_exact(&mut asked.body)?;
        Ok(asked)
    }

    fn field(&self, wanted: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_str())
    }

    /// `host:port` of a whole URL, and the rest.
    fn place(&self) -> Option<(String, &str)> {
        let rest = self.target.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        Some((if has_port { authority.to_owned() } else { format!("{authority}:80") }, path))
    }

    /// As a server is asked.
    fn for_server(&self, path: &str) -> Vec<u8> {
        let mut bytes = format!("{} {path} {}\r\n", self.method, self.version).into_bytes();
        for (name, value) in &self.fields {
            if !name.to_ascii_lowercase().starts_with("proxy-") {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

fn http(state: &State, mut client: TcpStream) -> std::io::Result<()> {
    let mut asked = Asked::read(&mut client)?;
    let login = asked.field("proxy-authorization").map(str::to_owned);
    let tunnel = asked.method == "CONNECT";
    let target = match asked.place() {
        _ if tunnel => asked.target.clone(),
        Some((target, _)) => target,
        None => return say(&mut client, 400),
    };
    let how = if tunnel { Manner::Connect } else { Manner::Forward };
    state.note(how, &target, login.as_deref());
    let admitted = match state.admits {
        Admits::Everybody => true,
        Admits::Only { header, .. } => login.as_deref() == Some(header),
    };
    if !admitted {
        return say(&mut client, 407);
    }
    if let Some(Fault::Status(status)) = state.fault() {
        return say(&mut client, status);
    }
    let Ok(mut server) = state.dial(&target) else { return say(&mut client, 502) };
    if tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        return carry(state, &client, &server);
    }
    let answers = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || pour(&answers.0, &answers.1));
    // Every request of this client goes to the same server.
    loop {
        let path = asked.place().map(|(_, path)| path.to_owned()).unwrap_or_default();
        let bytes = asked.for_server(&path);
        if !passes(state, &bytes, &client, &mut server)? {
            return Ok(());
        }
        let Ok(next) = Asked::read(&mut client) else { return server.shutdown(Shutdown::Both) };
        state.note(Manner::Forward, &target, next.field("proxy-authorization"));
        asked = next;
    }
}

fn say(client: &mut TcpStream, status: u16) -> std::io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} Said by the proxy\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry"
    );
    client.write_all(text.as_bytes())?;
    client.shutdown(Shutdown::Write)
}

/// Writes what the client has said to the server. False: the connection is over.
fn passes(
    state: &State,
    bytes: &[u8],
    client: &TcpStream,
    server: &mut TcpStream,
) -> std::io::Result<bool> {
    let has = |words: &str| String::from_utf8_lossy(bytes).contains(words);
    match state.fault() {
        Some(Fault::DropBehind(words)) if has(words) => {
            client.shutdown(Shutdown::Both)?;
            server.write_all(bytes)?;
            // The server reads it to its end, and has nobody to answer to.
            server.shutdown(Shutdown::Write)?;
            std::io::copy(server, &mut std::io::sink())?;
            Ok(false)
        }
        Some(Fault::Swallow(words)) if has(words) => {
            client.shutdown(Shutdown::Both)?;
            server.shutdown(Shutdown::Both)?;
            Ok(false)
        }
        _ => server.write_all(bytes).map(|()| true),
    }
}

fn socks(state: &State, mut client: TcpStream) -> std::io::Result<()> {
    let take = |count: usize| {
        let mut bytes = vec![0; count];
        (&client).read_exact(&mut bytes).map(|()| bytes)
    };
    let methods = take(2)?[1];
    let methods = take(usize::from(methods))?;
    let mut login = None;
    match state.admits {
        Admits::Only { socks, .. } if methods.contains(&2) => {
            (&client).write_all(&[5, 2])?;
            let user = take(2)?[1];
            let user = String::from_utf8_lossy(&take(usize::from(user))?).into_owned();
            let password = take(1)?[0];
            let password = String::from_utf8_lossy(&take(usize::from(password))?).into_owned();
            let said = format!("{user}:{password}");
            let right = said == socks;
            (&client).write_all(&[1, u8::from(!right)])?;
            if !right {
                return Ok(());
            }
            login = Some(said);
        }
        Admits::Only { .. } => return (&client).write_all(&[5, 0xff]),
        Admits::Everybody => (&client).write_all(&[5, 0])?,
    }
    let host = match take(4)?[3] {
        1 => Ipv4Addr::from(<[u8; 4]>::try_from(take(4)?).expect("four bytes")).to_string(),
        3 => {
            let length = take(1)?[0];
            String::from_utf8_lossy(&take(usize::from(length))?).into_owned()
        }
        _ => return (&client).write_all(&[5, 8, 0, 1, 0, 0, 0, 0, 0, 0]),
    };
    let port = take(2)?;
    let target = format!("{host}:{}", u16::from_be_bytes([port[0], port[1]]));
    state.note(Manner::Socks, &target, login.as_deref());
    let reply = |code: u8| [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
    if let Some(Fault::Reply(code)) = state.fault() {
        return client.write_all(&reply(code));
    }
    let Ok(server) = state.dial(&target) else { return client.write_all(&reply(5)) };
    client.write_all(&reply(0))?;
    carry(state, &client, &server)
}

/// Bytes in both directions until either side ends.
fn carry(state: &State, client: &TcpStream, server: &TcpStream) -> std::io::Result<()> {
    let answers = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || pour(&answers.0, &answers.1));
    let mut chunk = vec![0; 1 << 16];
    let (mut reading, mut writing) = (client, server.try_clone()?);
    while let Ok(count @ 1..) = reading.read(&mut chunk) {
        if !passes(state, &chunk[..count], client, &mut writing)? {
            return Ok(());
        }
    }
    server.shutdown(Shutdown::Write)
}

fn pour(mut from: &TcpStream, mut to: &TcpStream) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..count]).is_err() {
            break;
        }
    }
    drop((to.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both)));
}

/// A real proxy on a port of the loopback address; dropping it ends the process.
#[derive(Debug)]
pub struct RealProxy {
    process: Client,
    address: SocketAddr,
}

impl RealProxy {
    /// Debian's tinyproxy: HTTP. `login`: name and password that it wants.
    #[track_caller]
    pub fn tinyproxy(room: &Room, login: Option<(&str, &str)>) -> Self {
        let port = port::free();
        let login = login.map(|(user, password)| format!("BasicAuth {user} {password}\n"));
        // Without `ConnectPort` it would tunnel to any port: as it is installed, only to 443 and 563.
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\nConnectPort 443\n{}",
            login.unwrap_or_default()
        );
        let config = room.write(&format!("tinyproxy-{port}.conf"), text);
        let mut command = Command::new("tinyproxy");
        command.arg("-d").arg("-c").arg(config);
        Self::started(room, command, port)
    }

    /// … that also tunnels to this port.
    #[track_caller]
    pub fn tinyproxy_for(room: &Room, target: u16) -> Self {
        let port = port::free();
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\nConnectPort {target}\n"
        );
        let config = room.write(&format!("tinyproxy-{port}.conf"), text);
        let mut command = Command::new("tinyproxy");
        command.arg("-d").arg("-c").arg(config);
        Self::started(room, command, port)
    }

    /// Debian's microsocks: SOCKS5, as `ssh -D` has it. `login`: name and password that it wants.
    #[track_caller]
    pub fn microsocks(room: &Room, login: Option<(&str, &str)>) -> Self {
        let port = port::free();
        let mut command = Command::new("microsocks");
        command.args(["-i", "127.0.0.1", "-p", &port.to_string()]);
        if let Some((user, password)) = login {
            command.args(["-u", user, "-P", password]);
        }
        Self::started(room, command, port)
    }

    #[track_caller]
    fn started(room: &Room, mut command: Command, port: u16) -> Self {
        command.env(MARK, room.marker());
        let process = Client::spawn(command);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listens = || TcpStream::connect(address).is_ok();
        process::wait_until("the proxy listens", LIMIT, listens);
        Self { process, address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.process.stderr()
    }
}
