//! A way between two sockets at which somebody listens.

use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// What passes goes on as it came, and is kept.
#[derive(Debug)]
pub struct Tap {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    pub fn to(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        std::thread::spawn(move || {
            while let Ok((near, _)) = listener.accept() {
                let Ok(far) = TcpStream::connect(behind) else { continue };
                pass(near, far, Arc::clone(&kept));
            }
        });
        Self { address, sent }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Everything that clients have sent through it.
    pub fn sent(&self) -> Vec<u8> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn pass(near: TcpStream, far: TcpStream, kept: Arc<Mutex<Vec<u8>>>) {
    let (Ok(mut back_from), Ok(mut back_to)) = (far.try_clone(), near.try_clone()) else { return };
    std::thread::spawn(move || {
        drop(copy(&mut back_from, &mut back_to));
        drop(back_to.shutdown(Shutdown::Both));
    });
    std::thread::spawn(move || {
        let (mut near, mut far) = (near, far);
        let mut some = [0; 16 * 1024];
        while let Ok(read @ 1..) = near.read(&mut some) {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&some[..read]);
            if far.write_all(&some[..read]).is_err() {
                break;
            }
        }
        drop(far.shutdown(Shutdown::Both));
    });
}
