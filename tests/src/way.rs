//! A way between two sockets that can be cut and joined again, as a network that fails.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Dropping it cuts it for good.
#[derive(Debug)]
pub struct Way {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    behind: SocketAddr,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    is_cut: bool,
    open: Vec<TcpStream>,
}

impl Way {
    pub fn to(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Mutex::new(State { is_cut: false, open: Vec::new() });
        let shared = Arc::new(Shared { behind, state });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || serving.serve(&listener));
        Self { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every connection breaks, and new ones are closed as soon as they come.
    pub fn cut(&self) {
        let mut state = self.shared.lock();
        state.is_cut = true;
        for stream in state.open.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    pub fn join(&self) {
        self.shared.lock().is_cut = false;
    }
}

impl Shared {
    fn serve(&self, listener: &TcpListener) {
        while let Ok((near, _)) = listener.accept() {
            let mut state = self.lock();
            if state.is_cut {
                continue;
            }
            let Ok(far) = TcpStream::connect(self.behind) else { continue };
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
                    continue;
                };
                std::thread::spawn(move || {
                    drop(copy(&mut from, &mut to));
                    drop(to.shutdown(Shutdown::Both));
                    drop(from.shutdown(Shutdown::Both));
                });
            }
            state.open.extend([near, far]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.cut();
    }
}
