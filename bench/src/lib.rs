//! The benchmark's rooms: a fast child, the floor (a minimal raw forwarder) and the driver that times them.

pub mod child;
pub mod drive;
pub mod era;
pub mod floor;
pub mod http;
pub mod lines;
pub mod scan;
