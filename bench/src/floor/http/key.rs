//! Who an epoll event is for.

use rustix::event::epoll::EventData;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Listener,
    Stdin,
    /// A client's connection.
    Client(usize),
    /// A connection to a server over HTTP.
    Connection(usize),
    /// The output of a server over stdio.
    Output(usize),
    /// Its input.
    Input(usize),
}

impl Key {
    pub(super) fn data(self) -> EventData {
        let (tag, index) = match self {
            Self::Listener => (0, 0),
            Self::Stdin => (1, 0),
            Self::Client(index) => (2, index),
            Self::Connection(index) => (3, index),
            Self::Output(index) => (4, index),
            Self::Input(index) => (5, index),
        };
        EventData::new_u64(tag | (index as u64) << 3)
    }

    pub(super) fn of(data: EventData) -> Self {
        let index = (data.u64() >> 3) as usize;
        match data.u64() & 7 {
            0 => Self::Listener,
            1 => Self::Stdin,
            2 => Self::Client(index),
            3 => Self::Connection(index),
            4 => Self::Output(index),
            _ => Self::Input(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_the_kernel() {
        let keys = [Key::Listener, Key::Stdin, Key::Client(0), Key::Connection(7), Key::Output(8)];
        for key in keys.into_iter().chain([Key::Input(1 << 20)]) {
            assert_eq!(Key::of(key.data()), key);
        }
    }
}
