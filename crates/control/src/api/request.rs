//! A request whose sender is known and may make it: what the handlers get.

use trunkline_gateway::WebRequest;

use super::answer::ApiResponse;
use super::etag;
use super::input::Declared;
use super::problem::Problem;
use super::query;
use super::route::{Route, RouteTables};
use crate::access::Principal;
use crate::keys::Actor;
use crate::services::{ControlPlane, Precondition};

pub(in crate::api) struct ApiRequest<'a> {
    pub(in crate::api) plane: &'a ControlPlane,
    /// For those that describe all of them.
    pub(in crate::api) routes: RouteTables,
    pub(in crate::api) route: &'static Route,
    pub(in crate::api) params: &'a PathParams,
    pub(in crate::api) visit: &'a WebRequest,
    pub(in crate::api) principal: Principal,
    pub(in crate::api) address: String,
}

/// The segments that stood where the path has names, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathParams(pub(in crate::api) Vec<(&'static str, String)>);

impl PathParams {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

impl ApiRequest<'_> {
    pub(in crate::api) fn by(&self) -> Actor<'_> {
        Actor { principal: &self.principal, address: Some(&self.address), request_id: None }
    }

    pub(in crate::api) fn id(&self) -> &str {
        self.params.get("id").unwrap_or_default()
    }

    pub(in crate::api) fn raw_query(&self) -> &str {
        self.visit.query().unwrap_or_default()
    }

    pub(in crate::api) fn no_query(&self) -> Result<(), Problem> {
        query::whole(self.route, self.raw_query()).map(drop)
    }

    pub(in crate::api) fn body(&self) -> Declared<'_> {
        Declared { content_type: self.visit.headers.get("content-type"), bytes: &self.visit.body }
    }

    pub(in crate::api) fn precondition(&self) -> Precondition {
        etag::precondition(self.visit.headers.all("if-match"))
    }

    /// With a tag over the whole body, or nothing if the asker has it already.
    pub(in crate::api) fn cached(&self, answer: ApiResponse) -> ApiResponse {
        let tag = etag::list_tag(answer.body());
        self.tagged(answer, tag)
    }

    /// Does the asker have what goes by this tag?
    pub(in crate::api) fn has(&self, tag: &str) -> bool {
        etag::is_known(self.visit.headers.all("if-none-match"), tag)
    }

    pub(in crate::api) fn tagged(&self, answer: ApiResponse, tag: String) -> ApiResponse {
        match self.has(&tag) {
            true => ApiResponse::empty(304).header("ETag", tag),
            false => answer.header("ETag", tag),
        }
    }
}
