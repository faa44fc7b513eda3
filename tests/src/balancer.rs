//! A load balancer that knows nothing of sessions: each request goes to the next of several programs.

use std::io::{ErrorKind, Read as _, Write as _, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One request for each connection, as its answers say. Dropping it leaves what is open alone.
#[derive(Debug)]
pub struct Balancer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    behind: Mutex<Vec<SocketAddr>>,
    next: AtomicUsize,
}

impl Balancer {
    pub fn new(behind: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared { behind: Mutex::new(behind), next: AtomicUsize::new(0) });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || shared.serve(near));
            }
        });
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on requests go to these.
    pub fn set(&self, behind: Vec<SocketAddr>) {
        *self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner) = behind;
    }
}

impl Shared {
    /// The next program that takes connections.
    fn far(&self) -> Option<TcpStream> {
        let behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (0..behind.len()).find_map(|_| {
            let turn = self.next.fetch_add(1, Ordering::Relaxed);
            TcpStream::connect(behind[turn % behind.len()]).ok()
        })
    }

    fn serve(&self, mut near: TcpStream) {
        let Some(request) = request(&mut near) else { return };
        let Some(mut far) = self.far() else {
            drop(near.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"));
            return;
        };
        if far.write_all(&request).is_err() {
            return;
        }
        let (Ok(mut from), Ok(mut to)) = (near.try_clone(), far.try_clone()) else { return };
        // The client says nothing more, but it may leave.
        std::thread::spawn(move || {
            drop(copy(&mut from, &mut to));
            drop(to.shutdown(Shutdown::Both));
        });
        drop(copy(&mut far, &mut near));
        drop(near.shutdown(Shutdown::Both));
        drop(far.shutdown(Shutdown::Both));
    }
}

/// The first request, which is told to be the last on its connection.
fn request(near: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let whole = end + 4 + length.unwrap_or(0);
            if bytes.len() >= whole {
                let kept = head
                    .lines()
                    .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
                let mut request = kept.collect::<Vec<_>>().join("\r\n").into_bytes();
                request.extend_from_slice(b"\r\nConnection: close\r\n\r\n");
                request.extend_from_slice(&bytes[end + 4..whole]);
                return Some(request);
            }
        }
        let mut some = [0; 16 * 1024];
        match near.read(&mut some) {
            Ok(0) => return None,
            Ok(read) => bytes.extend_from_slice(&some[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
