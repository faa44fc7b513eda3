//! A server as the exchange sees it: a pair of pipes, or an address with a pool of connections.

use super::PROTOCOL;
use crate::era::{Era, MODERN};
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
    /// Everything of a call's head up to the number of its length; in the modern era up to the tool's name.
    pub(super) head: Vec<u8>,
    pub(super) era: Era,
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
            era: Era::Legacy,
            idle: Vec::with_capacity(64),
        })
    }

    /// From now on requests belong to this session.
    pub(super) fn enter(&mut self, session: &[u8]) {
        self.head.truncate(self.head.len() - LENGTH.len());
        self.head.extend_from_slice(format!("mcp-protocol-version: {PROTOCOL}\r\n").as_bytes());
        if !session.is_empty() {
            self.head.extend_from_slice(b"mcp-session-id: ");
            self.head.extend_from_slice(session);
            self.head.extend_from_slice(b"\r\n");
        }
        self.head.extend_from_slice(LENGTH);
    }

    /// From now on requests are calls of the modern era; returns the head of a `tools/list`.
    pub(super) fn modernise(&mut self) -> Vec<u8> {
        self.head.truncate(self.head.len() - LENGTH.len());
        self.head.extend_from_slice(format!("mcp-protocol-version: {MODERN}\r\n").as_bytes());
        let list = [&self.head, &b"mcp-method: tools/list\r\n"[..], LENGTH].concat();
        self.head.extend_from_slice(b"mcp-method: tools/call\r\nmcp-name: ");
        self.era = Era::Modern;
        list
    }

    /// Appends the head of a call of `name` up to the number of its length.
    #[inline]
    pub(super) fn push_head(&self, out: &mut Vec<u8>, name: &[u8]) {
        out.extend_from_slice(&self.head);
        if self.era == Era::Modern {
            out.extend_from_slice(name);
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(LENGTH);
        }
    }
}

const LENGTH: &[u8] = b"content-length: ";
