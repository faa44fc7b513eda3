//! The metadata of `/mcp` as a protected resource (RFC 9728): where clients learn who issues tokens.
//! Whoever asks may have it.

use super::answer::Answer;
use crate::access::Resource;
use crate::api::problem::{Kind, Problem};
use crate::services::ControlPlane;

/// What is described at this path, if anything is.
pub(super) fn of<'a>(plane: &'a ControlPlane, path: &str) -> Option<&'a Resource> {
    let resource = plane.issuer()?.resource();
    resource.is_metadata_path(path).then_some(resource)
}

pub(super) fn answer(resource: &Resource, method: &str, path: &str) -> Answer {
    const ALLOWED: &str = "GET, HEAD, OPTIONS";
    match method {
        "GET" | "HEAD" => Answer::json_bytes(200, resource.metadata().into_bytes()),
        "OPTIONS" => Answer::empty(204).header("Allow", ALLOWED.to_owned()),
        _ => {
            let why = format!("{method} is not for metadata");
            let problem = Problem::new(Kind::WrongMethod, why).instance(path);
            Answer::problem(&problem).header("Allow", ALLOWED.to_owned())
        }
    }
}
