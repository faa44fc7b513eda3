//! HTTP/2 at the front: what works over HTTP/1.1 works over it, with clients and proxies nobody here wrote.

mod bridge;
mod curl;
mod hostile;
mod squatters;
mod streams;
