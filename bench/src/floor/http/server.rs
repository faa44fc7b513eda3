//! A server as the exchange sees it: a pair of pipes, or an address with a pool of connections.

use super::PROTOCOL;
use crate::floor::outbox::Outbox;
use crate::lines::Lines;
use std::os::fd::OwnedFd;

#[derive(Debug)]
pub(super) enum Server {
    Pipes(Pipes),
    Http(Pool),
}

#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) input: Outbox,
    pub(super) output: OwnedFd,
    pub(super) lines: Lines,
}

#[derive(Debug)]
pub(super) struct Pool {
    /// `127.0.0.1:1234`.
    pub(super) authority: String,
    /// Everything of a request's head up to the number of its length.
    pub(super) head: Vec<u8>,
    /// Connections that carry no call, the last used one at the end: its memory is warm.
    pub(super) idle: Vec<usize>,
}

impl Pool {
    /// A pool for `http://AUTHORITY/PATH`, without a session yet.
    pub(super) fn new(url: &str) -> Option<Self> {
        let (authority, path) = url.strip_prefix("http://")?.split_once('/')?;
        let head = format!(
            "POST /{path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: "
        );
        Some(Self {
            authority: authority.to_owned(),
            head: head.into_bytes(),
            idle: Vec::with_capacity(64),
        })
    }

    /// From now on requests belong to this session.
    pub(super) fn enter(&mut self, session: &[u8]) {
        let length = b"content-length: ";
        self.head.truncate(self.head.len() - length.len());
        self.head.extend_from_slice(format!("mcp-protocol-version: {PROTOCOL}\r\n").as_bytes());
        if !session.is_empty() {
            self.head.extend_from_slice(b"mcp-session-id: ");
            self.head.extend_from_slice(session);
            self.head.extend_from_slice(b"\r\n");
        }
        self.head.extend_from_slice(length);
    }
}
