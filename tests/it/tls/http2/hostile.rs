//! Clients of HTTP/2 that mean harm: the others do not notice, and memory is bounded.

use std::io::ErrorKind;

use kit::LIMIT;
use kit::frames::{
    CALM_DOWN, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, GOAWAY, HEADERS,
    INITIAL_WINDOW, PING, PREFACE, RESET, SETTINGS, field, frame,
};
use kit::mcp::Speak;
use kit::process::{own_memory_kib, wait_until};
use kit::room::Room;
use kit::streamable::Streamable;
use kit::tunnel::{Trust, Tunnel};

use crate::tls::{BOTH, Encrypted};

/// A front, an honest client of HTTP/1.1 on it, and how one comes with bad intentions.
struct Siege {
    front: Encrypted,
    trust: Trust,
    honest: Streamable,
    _tunnel: Tunnel,
    before: u64,
}

impl Siege {
    #[track_caller]
    fn start() -> Self {
        Self::start_in(Room::new())
    }

    #[track_caller]
    fn start_in(room: Room) -> Self {
        let front = Encrypted::start_in(room, &[]);
        let tunnel = front.tunnel();
        let honest = front.client(&tunnel);
        honest.assert_echo("a", "echo", "{}");
        let trust = Trust::of(&front.authority, &BOTH);
        let before = Self::memory(&front);
        Self { trust, honest, _tunnel: tunnel, before, front }
    }

    fn memory(front: &Encrypted) -> u64 {
        own_memory_kib(front.serve.process().pid().as_raw_nonzero().get())
    }

    #[track_caller]
    fn open(&self) -> Frames {
        Frames::open(self.front.address(), &self.trust)
    }

    /// The honest are served, on old connections and new ones, and what was taken of memory is little.
    #[track_caller]
    fn holds(&self, most_mib: u64) {
        self.honest.assert_echo("a", "echo", "{}");
        self.front.client(&self._tunnel).assert_echo("a", "echo", "{}");
        let mut other = self.open();
        other.get(1, "/healthz");
        assert_eq!(other.next_of(HEADERS, LIMIT).expect("an answer").status(), 200);
        let grown = Self::memory(&self.front).saturating_sub(self.before);
        assert!(grown < most_mib << 10, "{grown} KiB");
    }
}

/// Sends until all is sent or the other side has had enough.
fn flood(client: &mut Frames, piece: &[u8], times: usize) {
    for _ in 0..times {
        if client.try_send(piece).is_err() {
            return;
        }
    }
}

/// Reads to the end; the error of the last goodbye.
#[track_caller]
fn goodbye(client: &mut Frames) -> Option<u32> {
    let mut error = None;
    while let Some(frame) = client.next(LIMIT) {
        if frame.kind == GOAWAY {
            error = Some(frame.goodbye());
        }
    }
    error
}

#[test]
fn requests_that_are_taken_back_at_once_end_the_connection() {
    let siege = Siege::start();
    let mut client = siege.open();
    let head = client.head("GET", "/healthz", &[]);
    let pair = |number: u32| {
        let reset = frame(RESET, 0, number, &8_u32.to_be_bytes());
        [frame(HEADERS, END_HEADERS | END_STREAM, number, &head), reset].concat()
    };
    let all: Vec<u8> = (0..2000).flat_map(|number| pair(2 * number + 1)).collect();
    flood(&mut client, &all, 1);
    assert!(matches!(goodbye(&mut client), None | Some(CALM_DOWN)));
    siege.holds(24);
}

#[test]
fn streams_that_are_closed_as_soon_as_they_are_open_end_the_connection() {
    let siege = Siege::start();
    let mut client = siege.open();
    let head = client.head("GET", "/sse", &[("accept", "text/event-stream")]);
    // Far more than the promised number, and faster than the promised rate on any machine.
    let ended = (0..40).find(|batch| {
        let numbers: Vec<u32> = (0..100).map(|number| 200 * batch + 2 * number + 1).collect();
        let open = numbers
            .iter()
            .flat_map(|number| frame(HEADERS, END_HEADERS | END_STREAM, *number, &head));
        let open: Vec<u8> = open.collect();
        if client.try_send(&open).is_err() {
            return true;
        }
        // Each has begun before it is closed.
        let mut begun = 0;
        while begun < numbers.len() {
            match client.next(LIMIT) {
                Some(frame) => begun += usize::from(frame.kind == HEADERS),
                None => return true,
            }
        }
        let reset = |number: &u32| frame(RESET, 0, *number, &8_u32.to_be_bytes());
        let close: Vec<u8> = numbers.iter().flat_map(reset).collect();
        client.try_send(&close).is_err()
    });
    assert!(ended.is_some_and(|batch| batch >= 4), "{ended:?}");
    siege.holds(32);
}

#[test]
fn a_head_without_an_end_ends_the_connection() {
    let siege = Siege::start();
    let mut client = siege.open();
    let head = client.head("GET", "/healthz", &[]);
    client.frame(HEADERS, END_STREAM, 1, &head);
    let more: Vec<u8> = (0..100).flat_map(|number| field(&format!("x-{number}"), "y")).collect();
    flood(&mut client, &frame(CONTINUATION, 0, 1, &more), 5000);
    assert!(goodbye(&mut client).is_none_or(|error| error != 0));
    // Empty ones cost nothing, and are as many.
    let mut client = siege.open();
    client.frame(HEADERS, END_STREAM, 1, &head);
    flood(&mut client, &frame(CONTINUATION, 0, 1, b"").repeat(100), 1000);
    assert!(goodbye(&mut client).is_none_or(|error| error != 0));
    siege.holds(24);
}

#[test]
fn pings_and_settings_that_nobody_reads_the_answers_of_fill_no_memory() {
    let siege = Siege::start();
    let ping = frame(PING, 0, 0, &[7; 8]);
    let settings = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9]);
    let mut held = Vec::new();
    for kind in [ping, settings] {
        let mut client = siege.open();
        client.stop_waiting();
        let piece = kind.repeat(1000);
        // Until the front reads no more: its answers are not taken.
        let stopped = (0..4000).any(|_| {
            client.try_send(&piece).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        });
        assert!(stopped, "it reads for ever");
        held.push(client);
    }
    siege.holds(24);
}

#[test]
fn pings_that_are_read_disturb_nobody() {
    let siege = Siege::start();
    let mut client = siege.open();
    let piece = frame(PING, 0, 0, &[7; 8]).repeat(500);
    for _ in 0..200 {
        client.send(&piece);
        for _ in 0..500 {
            client.next_of(PING, LIMIT).expect("an answer");
        }
    }
    siege.holds(24);
}

#[test]
fn a_small_head_that_unpacks_to_a_large_one_is_refused() {
    let siege = Siege::start();
    let mut client = siege.open();
    // A field of 4,000 bytes is remembered (RFC 7541, 6.2.1), and then named by one byte.
    let mut remembered = field("x", &"y".repeat(3900));
    remembered[0] = 0x40;
    for number in (1..200).step_by(2) {
        let first = if number == 1 { remembered.clone() } else { Vec::new() };
        let head = [client.head("GET", "/healthz", &[]), first, vec![0x80 | 62; 16_000]].concat();
        let pieces: Vec<&[u8]> = head.chunks(16_000).collect();
        let mut all = frame(HEADERS, END_STREAM, number, pieces[0]);
        for (at, piece) in pieces.iter().enumerate().skip(1) {
            let flags = if at + 1 == pieces.len() { END_HEADERS } else { 0 };
            all.extend(frame(CONTINUATION, flags, number, piece));
        }
        if client.try_send(&all).is_err() {
            break;
        }
    }
    siege.holds(24);
}

#[test]
fn answers_that_are_never_let_out_cost_bounded_memory() {
    let siege = Siege::start();
    let mut held = Vec::new();
    for _ in 0..20 {
        let no_window = [(INITIAL_WINDOW, 0)];
        let mut client = Frames::open_with(siege.front.address(), &siege.trust, &no_window);
        for number in 0..128 {
            client.get(2 * number + 1, "/healthz");
        }
        let mut answers = 0;
        while answers < 128 {
            let frame = client.next(LIMIT).expect("it is open");
            answers += usize::from(frame.kind == HEADERS);
        }
        held.push(client);
    }
    siege.holds(48);
}

#[test]
fn thousands_of_open_streams_leave_others_alone() {
    let siege = Siege::start();
    let mut held = Vec::new();
    for _ in 0..20 {
        let mut client = siege.open();
        let head = client.head("GET", "/sse", &[("accept", "text/event-stream")]);
        let all: Vec<u8> = (0..128)
            .flat_map(|number| frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head))
            .collect();
        client.send(&all);
        let mut begun = 0;
        while begun < 128 {
            let frame = client.next(LIMIT).expect("it is open");
            begun += usize::from(frame.kind == DATA);
        }
        held.push(client);
    }
    siege.holds(160);
}

#[test]
fn bodies_that_do_not_come_are_given_up() {
    // A tenth of the promised thirty seconds.
    let siege = Siege::start_in(Room::hurried());
    let mut client = siege.open();
    let session = siege.honest.session().expect("a session");
    let fields = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", &session),
        ("content-length", "1000"),
    ];
    for number in 0..100 {
        client.post(2 * number + 1, "/mcp", &fields);
        client.frame(DATA, 0, 2 * number + 1, b"{");
    }
    for _ in 0..100 {
        client.next_of(HEADERS, LIMIT).expect("it is refused");
    }
    siege.holds(24);
}

#[test]
fn data_without_bytes_ends_the_connection() {
    let siege = Siege::start();
    let mut client = siege.open();
    let session = siege.honest.session().expect("a session");
    client.post(1, "/mcp", &[("content-type", "application/json"), ("mcp-session-id", &session)]);
    flood(&mut client, &frame(DATA, 0, 1, b"").repeat(1000), 1000);
    assert!(goodbye(&mut client).is_none_or(|error| error != 0));
    siege.holds(24);
}

#[test]
fn whoever_says_something_else_or_nothing_is_let_go() {
    let siege = Siege::start();
    let mut wrong = Frames::silent(siege.front.address(), &siege.trust);
    flood(&mut wrong, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1);
    goodbye(&mut wrong);
    let mut unknown = Frames::silent(siege.front.address(), &siege.trust);
    flood(&mut unknown, &[PREFACE, &frame(DATA, 0, 0, b"x")].concat(), 1);
    assert!(goodbye(&mut unknown).is_none_or(|error| error != 0));
    let silent: Vec<Frames> =
        (0..50).map(|_| Frames::silent(siege.front.address(), &siege.trust)).collect();
    siege.holds(24);
    drop(silent);
    wait_until("the honest are served", LIMIT, || {
        siege.honest.assert_echo("a", "echo", "{}");
        true
    });
}
