//! The bounds of HTTP/2, with their reasons.

use crate::limits::CONNECTIONS;

/// Requests that one connection may have open. RFC 9113, 6.5.2 wants at least 100; a browser's tabs share one
/// connection, and each may hold some streams of events.
pub(super) const STREAMS_PER_CONNECTION: u32 = 128;
/// … and all connections, and for each connection that one address may have.
pub(super) const STREAMS: usize = 4 * CONNECTIONS;
pub(super) const STREAMS_PER_PLACE: u32 = 4;
/// What a client may send of one body, and of all on its connection, before we have said that we took it. What has come
/// is counted among the bodies; it is how much is on its way.
pub(super) const STREAM_WINDOW: u32 = 256 * 1024;
pub(super) const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Heads, unpacked, as RFC 9113, 6.5.2 counts them: as long as those of HTTP/1.1, and 32 bytes for each of some fields.
pub(super) const HEADS_BYTES: u32 = 16 * 1024;
/// What is taken of an answer before the client's window lets it go, and what waits in frames for its socket. The rest
/// stays where it is counted.
pub(super) const STREAM_AHEAD: usize = 32 * 1024;
pub(super) const FRAMES_AHEAD: usize = 256 * 1024;
/// Requests that a client may take back before they are answered: at once, and again each second. A client that gives up
/// all that it has open does so some times; a flood is thousands a second.
pub(super) const RESETS: u32 = 4 * STREAMS_PER_CONNECTION;
pub(super) const RESETS_PER_SECOND: u32 = 40;
