//! `Http2Reader`: reads what a client of HTTP/2 sends, and drives its streams. It runs on the connection's pump
//! alone; whoever answers a stream rings its bell.

use std::collections::HashMap;
use std::fmt;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use foldhash::fast::RandomState;
use h2::server::{Builder, Connection, Handshake, SendResponse};
use h2::{Reason, RecvStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;

use super::bounds::{
    CONNECTION_WINDOW, FRAMES_AHEAD, HEADS_BYTES, STREAM_AHEAD, STREAM_WINDOW, STREAMS,
    STREAMS_PER_CONNECTION, STREAMS_PER_PLACE,
};
use super::ready::{CONNECTION, ReadyStreams, StreamBell};
use super::resets::ResetBudget;
use super::streams::{Http2Stream, StreamPlace, StreamState, refuse_crowded};
use super::watch::{Goodbye, Http2Watch};
use crate::front::http::inbound::address_counts::AddressCounts;
use crate::front::http::inbound::admission::ClientConn;
use crate::front::http::inbound::reader::ConnectionPlace;
use crate::limits::PIPELINED_BYTES;
use crate::lock::{Mutex, rank};
use crate::pump::{FlushSet, Frame, Outbox, Reader, SourceHandle};
use trunkline_wire::Edits;

/// Where the streams of all connections count.
#[derive(Clone, Debug)]
pub(crate) struct StreamCounts {
    pub(crate) all: Arc<Semaphore>,
    pub(crate) addresses: Arc<AddressCounts>,
}

impl StreamCounts {
    /// `per_address`: the connections that an operator lets an address have.
    pub(crate) fn new(per_address: Option<u32>) -> Self {
        let addresses = AddressCounts::for_each(per_address, STREAMS_PER_PLACE);
        Self { all: Arc::new(Semaphore::new(STREAMS)), addresses }
    }
}

pub(crate) struct Http2Reader {
    client: ClientConn,
    /// What was read last, until it is taken.
    buffer: Vec<u8>,
    wire: Arc<Wire>,
    stage: FramesStage,
    streams: HashMap<u32, Http2Stream, RandomState>,
    /// Those that are answered and whose bodies still come.
    leaving: Vec<u32>,
    counts: StreamCounts,
    ready: Arc<ReadyStreams>,
    /// Rings for the connection itself.
    bell: Arc<StreamBell>,
    waker: Waker,
    resets: ResetBudget,
    watch: Arc<Http2Watch>,
    is_held: bool,
    _place: ConnectionPlace,
}

/// How far the connection has come.
enum FramesStage {
    /// The client's preface is awaited.
    Greeting(Box<Handshake<WireEnd, Bytes>>),
    Open(Box<Connection<WireEnd, Bytes>>),
    Over,
}

type Asked = (http::Request<RecvStream>, SendResponse<Bytes>);

impl fmt::Debug for Http2Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Http2Reader").field("streams", &self.streams.len()).finish()
    }
}

/// Room offered to one read.
const ROOM: usize = 16 * 1024;

impl Http2Reader {
    pub(crate) fn new(client: ClientConn, counts: StreamCounts, place: ConnectionPlace) -> Self {
        let wire = Arc::new(Wire::default());
        let end = WireEnd { wire: Arc::clone(&wire), outbox: client.conn.outbox.clone() };
        let greeting = Builder::new()
            .max_concurrent_streams(STREAMS_PER_CONNECTION)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADS_BYTES)
            .max_send_buffer_size(STREAM_AHEAD)
            .handshake(end);
        let ready = Arc::<ReadyStreams>::default();
        let bell = StreamBell::new(&ready, CONNECTION);
        let watch = Http2Watch::new(&client.front, &client.conn);
        // It is never idle for the sweeper, which asks the watch.
        client.conn.begin();
        client.conn.watch(Arc::downgrade(&watch) as _);
        Self {
            resets: ResetBudget::new(client.conn.now()),
            waker: Waker::from(Arc::clone(&bell)),
            client,
            buffer: Vec::new(),
            wire,
            stage: FramesStage::Greeting(Box::new(greeting)),
            streams: HashMap::default(),
            leaving: Vec::new(),
            counts,
            ready,
            bell,
            watch,
            is_held: false,
            _place: place,
        }
    }

    /// Does all that can be done now.
    fn drive(&mut self, touched: &mut FlushSet) {
        loop {
            self.bell.heard();
            while let Some(asked) = self.next(touched) {
                self.open(asked, touched);
            }
            // What the streams have to say is written when the connection is polled again.
            let Some(ready) = self.ready.take() else { return };
            for number in ready {
                self.advance(number, touched);
            }
        }
    }

    /// The next request. `None`: there is none now, or never again.
    fn next(&mut self, touched: &mut FlushSet) -> Option<Asked> {
        let waker = self.waker.clone();
        let mut context = Context::from_waker(&waker);
        let goodbye = self.watch.goodbye();
        if let FramesStage::Greeting(greeting) = &mut self.stage {
            match Pin::new(&mut **greeting).poll(&mut context) {
                Poll::Pending => {
                    if goodbye.is_some() {
                        self.finish(touched); // there is no frame to say it with
                    }
                    return None;
                }
                Poll::Ready(Ok(connection)) => self.stage = FramesStage::Open(Box::new(connection)),
                Poll::Ready(Err(error)) => {
                    tracing::debug!(%error, "a client of HTTP/2 does not speak it");
                    self.finish(touched);
                    return None;
                }
            }
        }
        let FramesStage::Open(connection) = &mut self.stage else { return None };
        match goodbye {
            // Whoever sent a request meanwhile learns that it was not looked at.
            Some(Goodbye::AtOnce) if self.streams.is_empty() => {
                connection.abrupt_shutdown(Reason::NO_ERROR);
            }
            Some(_) => connection.graceful_shutdown(), // said once, however often
            None => {}
        }
        match connection.poll_accept(&mut context) {
            Poll::Pending => None,
            Poll::Ready(Some(Ok(asked))) => Some(asked),
            Poll::Ready(ended) => {
                if let Some(Err(error)) = ended {
                    tracing::debug!(%error, "a connection of HTTP/2 is ended");
                }
                self.finish(touched);
                None
            }
        }
    }

    fn open(&mut self, asked: Asked, touched: &mut FlushSet) {
        self.watch.note_request(self.client.conn.now());
        let number = u32::from(asked.1.stream_id());
        let permit = Arc::clone(&self.counts.all).try_acquire_owned();
        let address = self.counts.addresses.enter(self.client.peer.address.ip());
        let (Ok(permit), Some(address)) = (permit, address) else {
            tracing::debug!("a request is refused: too many are open from its address");
            return refuse_crowded(asked.1);
        };
        let place = StreamPlace { _permit: permit, _address: address };
        let bell = StreamBell::new(&self.ready, number);
        let stream = Http2Stream::begin(&self.client, asked, Arc::clone(&bell), place, touched);
        self.streams.insert(number, stream);
        // Its waker has to be known to the crate, and its answer may be there.
        bell.strike();
    }

    fn advance(&mut self, number: u32, touched: &mut FlushSet) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let state = stream.advance(touched);
        match state {
            StreamState::Open => return,
            StreamState::Leaving if self.leaving.contains(&number) => return,
            StreamState::Leaving => return self.leaving.push(number),
            _ => {}
        }
        if let Some(stream) = self.streams.remove(&number) {
            stream.end(state, touched);
        }
        let is_too_often =
            state == StreamState::TakenBack && !self.resets.take(self.client.conn.now());
        if let FramesStage::Open(connection) = &mut self.stage
            && is_too_often
        {
            tracing::debug!("a connection of HTTP/2 is ended: it takes too many requests back");
            connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
        }
        self.bell.strike();
    }

    /// The connection is over, and everything on it.
    fn finish(&mut self, touched: &mut FlushSet) {
        self.stage = FramesStage::Over;
        for (_, stream) in self.streams.drain() {
            stream.end(StreamState::TakenBack, touched);
        }
        self.client.conn.outbox.close_when_written();
    }
}

impl Reader for Http2Reader {
    fn room(&mut self) -> &mut Vec<u8> {
        if self.buffer.capacity() - self.buffer.len() < ROOM {
            self.buffer.reserve_exact(ROOM);
        }
        &mut self.buffer
    }

    fn take(&mut self, source: &SourceHandle, touched: &mut FlushSet) {
        if matches!(self.stage, FramesStage::Over) {
            self.buffer.clear();
            return;
        }
        self.ready.awake(source);
        self.wire.push(&mut self.buffer);
        for number in std::mem::take(&mut self.leaving) {
            self.advance(number, touched);
        }
        self.drive(touched);
        let outbox = &self.client.conn.outbox;
        touched.note(outbox);
        let (unread, is_blocked) = self.wire.rest();
        if is_blocked {
            outbox.poke_below(FRAMES_AHEAD / 2, source);
        }
        // What it sends is answered, window updates and pings, too: as long as it does not read, neither do we.
        let is_full = unread > PIPELINED_BYTES;
        if is_full != std::mem::replace(&mut self.is_held, is_full) {
            if is_full { source.hold() } else { source.resume() }
        }
        let is_busy = !self.streams.is_empty();
        self.watch.note(source, is_busy, !self.leaving.is_empty(), self.client.conn.now());
    }

    fn ended(&mut self, touched: &mut FlushSet) {
        self.finish(touched);
        self.client.conn.outbox.close();
    }
}

/// What has come and was not read by the crate yet.
#[derive(Debug, Default)]
struct Wire {
    // Held while bytes are moved in or out, on the pump.
    state: Mutex<WireState, rank::FrameBytes>,
}

#[derive(Debug, Default)]
struct WireState {
    bytes: Vec<u8>,
    /// How many of them were read.
    read: usize,
    /// More was to be written than the outbox may hold.
    is_blocked: bool,
}

impl Wire {
    fn push(&self, more: &mut Vec<u8>) {
        let mut state = self.state.lock();
        state.is_blocked = false;
        if state.bytes.is_empty() {
            std::mem::swap(&mut state.bytes, more);
        } else {
            let read = std::mem::take(&mut state.read);
            state.bytes.drain(..read);
            state.bytes.append(more);
        }
    }

    /// How much is left to read, and whether the outbox was full.
    fn rest(&self) -> (usize, bool) {
        let mut state = self.state.lock();
        let unread = state.bytes.len() - state.read;
        if unread == 0 {
            // Most connections are idle: none keeps room for what it may say next.
            (state.bytes, state.read) = (Vec::new(), 0);
        }
        (unread, state.is_blocked)
    }
}

/// The connection as the crate reads and writes it.
#[derive(Debug)]
struct WireEnd {
    wire: Arc<Wire>,
    outbox: Outbox,
}

impl AsyncRead for WireEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.wire.state.lock();
        let unread = state.bytes.get(state.read..).unwrap_or_default();
        if unread.is_empty() {
            return Poll::Pending; // the reader polls again when there is more
        }
        let count = unread.len().min(room.remaining());
        room.put_slice(unread.get(..count).unwrap_or_default());
        state.read += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WireEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.outbox.len() >= FRAMES_AHEAD {
            self.wire.state.lock().is_blocked = true;
            return Poll::Pending; // the outbox pokes the reader
        }
        let mut count = 0;
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            let frame = Frame { head: piece, tail: b"" };
            if self.outbox.put_framed(frame, b"", &Edits::new()).is_err() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            count += piece.len();
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // with the others of its round
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
