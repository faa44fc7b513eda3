//! Why the head of a message was refused, and the status that says so.

/// Why a head was refused. The texts are fit for an answer: they quote nothing received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHead {
    #[error("malformed HTTP: {0}")]
    Malformed(&'static str),
    #[error("only HTTP/1.0 and HTTP/1.1 are spoken here")]
    Version,
    #[error("the header is too large")]
    TooLarge,
    #[error("too many header fields")]
    TooMany,
    #[error("HTTP/1.1 needs exactly one Host header")]
    Host,
    #[error("the header {0} may appear only once")]
    Repeated(&'static str),
    #[error("Content-Length is not one decimal number")]
    Length,
    #[error("the only Transfer-Encoding understood is chunked, and only in HTTP/1.1")]
    Coding,
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    Ambiguous,
}

impl BadHead {
    /// The status to answer with.
    pub fn status(self) -> u16 {
        match self {
            // 431: RFC 6585, 5. 505: RFC 9110, 15.6.6.
            Self::TooLarge | Self::TooMany => 431,
            Self::Version => 505,
            _ => 400,
        }
    }
}
