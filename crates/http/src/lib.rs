//! HTTP/1.1 and server-sent events as bytes. Pure: no IO, no clock.
//!
//! `head` reads what a message says about itself and refuses whatever two readers could take
//! differently; `body` takes the framing off; `events` cuts a stream into events; `write` is the
//! other direction, and `date` what stands in its header. `url`, `media` and `percent` read the values in between. `reach` says which
//! addresses a URL may lead to, `proxy` through what, `proxy_protocol` whom a load balancer connects for.

mod body;
#[cfg(test)]
mod cut;
mod date;
mod events;
mod head;
mod media;
mod percent;
pub mod proxy;
mod proxy_protocol;
pub mod reach;
mod url;
mod write;

pub use body::{BadBody, Body};
pub use date::http_date;
pub use events::{Event, Events};
pub use head::{
    BadHead, Framing, Headers, Request, Response, is_field_name, is_field_value, request, response,
};
pub use media::{accepts, accepts_coding, is_type};
pub use percent::{BadPercent, decode, decode_value, encode, encode_value, read_form, write_form};
pub use proxy_protocol::{BadProxyHeader, ProxyHeader, proxy_header};
pub use url::{BadUrl, Origin, Scheme, Url};
pub use write::{
    CHUNK_END, EVENT_END, LAST_CHUNK, chunk, chunk_head, event, event_head, reason, request_head,
    response_head,
};
