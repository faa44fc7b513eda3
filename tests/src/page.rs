//! A web page that answers as a test says, and remembers who asked: what health checks look at.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    Status(u16),
    /// Nothing, and the connection stays open.
    Silence,
    /// Nothing, and the connection is closed.
    HangUp,
}

/// Dropping it closes it.
#[derive(Debug)]
pub struct Page {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    over: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    says: Says,
    heads: Vec<String>,
    /// Connections nobody answers.
    held: Vec<TcpStream>,
}

impl Page {
    pub fn new(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = State { says, heads: Vec::new(), held: Vec::new() };
        let shared = Arc::new(Shared { over: AtomicBool::new(false), state: Mutex::new(state) });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || serving.serve(&listener));
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}/health", self.address)
    }

    /// From now on it answers so.
    pub fn says(&self, says: Says) {
        self.shared.lock().says = says;
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.shared.lock().heads.clone()
    }
}

impl Shared {
    fn serve(&self, listener: &TcpListener) {
        while let Ok((mut stream, _)) = listener.accept() {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            // One at a time: a health check asks once and goes.
            let Some(head) = head(&mut stream) else { continue };
            let mut state = self.lock();
            state.heads.push(head);
            match state.says {
                Says::Silence => state.held.push(stream),
                Says::HangUp => {}
                Says::Status(status) => {
                    let answer = format!(
                        "HTTP/1.1 {status} So\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                    );
                    // Who does not wait for the answer shows it in what it does next.
                    drop(stream.write_all(answer.as_bytes()));
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn head(stream: &mut TcpStream) -> Option<String> {
    stream.set_read_timeout(Some(crate::LIMIT)).ok()?;
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl Drop for Page {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the thread, which sees that it is over.
        drop(TcpStream::connect(self.address));
    }
}
