//! What one route is: where, who may, who answers, what goes in, what comes out, what can go wrong.

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use super::answer::ApiResponse;
use super::input::MOST_BODY;
use super::problem::{Kind, Problem};
use super::request::ApiRequest;
use super::schema::{Schema, example};
use crate::access::Action;

/// One declaration: the router, the handlers, `OpenAPI` and the docs read it. `Route::new` wants to know
/// who may use it, so that no route is open by mistake.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// What generated clients call it.
    pub id: &'static str,
    pub method: Method,
    /// `{name}` stands for one segment.
    pub path: &'static str,
    pub access: Access,
    pub(in crate::api) handler: Handler,
    pub tag: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    pub parameters: &'static [Parameter],
    pub body: Option<Body>,
    pub responses: &'static [Response],
    /// What can go wrong besides what every route of its kind can (`Route::problems`).
    own_problems: &'static [Kind],
    audit_action: Option<&'static str>,
    /// It ends when its client has gone: nobody else wants what it does.
    pub(in crate::api) is_abandonable: bool,
    /// It counts in the limits of its sender like a call of a tool.
    pub(in crate::api) is_counted: bool,
}

impl Route {
    pub(in crate::api) const fn new(
        id: &'static str,
        (method, path): (Method, &'static str),
        access: Access,
        handler: Handler,
    ) -> Self {
        // A change is recorded under the action it needs, unless the route names one of its own.
        let audit_action = match (method, access) {
            (Method::Get, _) | (_, Access::Open) => None,
            (_, Access::Needs(action)) => Some(action.name()),
        };
        Self {
            id,
            method,
            path,
            access,
            handler,
            tag: "",
            summary: "",
            description: "",
            parameters: &[],
            body: None,
            responses: &[],
            own_problems: &[],
            audit_action,
            is_abandonable: false,
            is_counted: false,
        }
    }

    pub const fn about(
        self,
        tag: &'static str,
        summary: &'static str,
        description: &'static str,
    ) -> Self {
        Self { tag, summary, description, ..self }
    }

    pub const fn parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    pub const fn body(self, schema: Schema) -> Self {
        self.large_body(schema, MOST_BODY)
    }

    pub const fn large_body(self, schema: Schema, most: usize) -> Self {
        Self { body: Some(Body { schema, most }), ..self }
    }

    pub const fn answers(self, responses: &'static [Response]) -> Self {
        Self { responses, ..self }
    }

    pub const fn fails(self, own_problems: &'static [Kind]) -> Self {
        Self { own_problems, ..self }
    }

    /// It ends when its client has gone.
    pub const fn abandonable(self) -> Self {
        Self { is_abandonable: true, ..self }
    }

    /// It counts in the limits of its sender like a call of a tool.
    pub const fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    pub const fn audited(self, action: &'static str) -> Self {
        Self { audit_action: Some(action), ..self }
    }

    /// It is no change, although its method is not GET.
    pub const fn not_audited(self) -> Self {
        Self { audit_action: None, ..self }
    }

    /// The action of its audit records, whether it was done or refused; none if it changes nothing.
    pub fn audit_action(&self) -> Option<&'static str> {
        self.audit_action
    }

    /// Everything that can go wrong, each kind once, in the order of the statuses.
    pub fn problems(&self) -> Vec<Kind> {
        let mut kinds = self.own_problems.to_vec();
        if let Access::Needs(_) = self.access {
            kinds.extend([Kind::Unauthenticated, Kind::Forbidden, Kind::TooMany, Kind::Internal]);
            // Every route refuses a query that it does not declare.
            kinds.push(Kind::Invalid);
        }
        if self.body.is_some() {
            kinds.extend([Kind::Malformed, Kind::TooLarge, Kind::WrongMediaType]);
        }
        Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect()
    }

    pub fn parameters_in(
        &self,
        location: ParameterLocation,
    ) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(move |parameter| parameter.location == location)
    }
}

/// The routes by subject.
pub type RouteTables = &'static [&'static [Route]];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any client that reaches the port, without a token.
    Open,
    Needs(Action),
}

/// Who answers.
#[derive(Debug, Clone, Copy)]
pub(in crate::api) enum Handler {
    Sync(fn(&ApiRequest<'_>) -> Result<ApiResponse, Problem>),
    Async(for<'a> fn(&'a ApiRequest<'a>) -> Answering<'a>),
    /// The answer has no end: it is written to the reply as it happens.
    Stream,
    /// The gateway answers before a request comes to the API.
    Gateway,
}

pub(in crate::api) type Answering<'a> =
    Pin<Box<dyn Future<Output = Result<ApiResponse, Problem>> + Send + 'a>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub location: ParameterLocation,
    pub schema: Schema,
    pub doc: &'static str,
}

/// Those in the path are required, the others are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    Path,
    Query,
    Header,
}

impl ParameterLocation {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

impl Parameter {
    pub const fn path(name: &'static str, schema: Schema, doc: &'static str) -> Self {
        Self { name, location: ParameterLocation::Path, schema, doc }
    }

    pub const fn query(name: &'static str, schema: Schema, doc: &'static str) -> Self {
        Self { name, location: ParameterLocation::Query, schema, doc }
    }

    pub const fn header(name: &'static str, schema: Schema, doc: &'static str) -> Self {
        Self { name, location: ParameterLocation::Header, schema, doc }
    }
}

/// JSON that goes in.
#[derive(Debug, Clone, Copy)]
pub struct Body {
    pub schema: Schema,
    /// In bytes.
    pub most: usize,
}

/// One of the good answers.
#[derive(Debug, Clone, Copy)]
pub struct Response {
    pub status: u16,
    pub doc: &'static str,
    pub content: Content,
    pub headers: &'static [Header],
    /// JSON: the members in which this answer's example differs from its schema's.
    example: &'static str,
}

impl Response {
    pub const fn json(status: u16, doc: &'static str, schema: Schema) -> Self {
        Self { status, doc, content: Content::Json(schema), headers: &[], example: "{}" }
    }

    pub const fn text(doc: &'static str, media_type: &'static str) -> Self {
        Self { status: 200, doc, content: Content::Text(media_type), headers: &[], example: "{}" }
    }

    pub const fn empty(status: u16, doc: &'static str) -> Self {
        Self { status, doc, content: Content::Nothing, headers: &[], example: "{}" }
    }

    pub const fn showing(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    pub fn example(&self, schema: &Schema) -> Value {
        let mut shown = example(schema);
        let own: Value = serde_json::from_str(self.example).unwrap_or_default();
        if let (Value::Object(shown), Value::Object(own)) = (&mut shown, own) {
            shown.extend(own);
        }
        shown
    }

    pub const fn with(self, headers: &'static [Header]) -> Self {
        Self { headers, ..self }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Content {
    Nothing,
    Json(Schema),
    /// Anything else, by its media type.
    Text(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub struct Header {
    pub name: &'static str,
    pub doc: &'static str,
}
