//! What differs between a scenario over stdio, the same over HTTP and the same in the modern era: the way, the words
//! and the targets.

use crate::drive::route::{Http, Route, Servers, Sessions};

#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub(super) route: Route,
    /// Stands before titles and targets.
    pub(super) prefix: &'static str,
    /// Stands behind the explanation of a table.
    pub(super) remark: &'static str,
    pub(super) targets: Targets,
}

/// Ratios to the floor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Targets {
    pub(super) added: f64,
    pub(super) cpu: f64,
    pub(super) throughput: f64,
    /// Processor time with 64 in flight.
    pub(super) cpu_in_flight: Option<f64>,
    pub(super) large: Option<f64>,
}

impl Course {
    /// A table's title; behind a prefix its first letter is small.
    pub(super) fn title(&self, title: &str) -> String {
        let mut letters = title.chars();
        match letters.next() {
            Some(first) if !self.prefix.is_empty() => {
                format!("{}{}{}", self.prefix, first.to_lowercase(), letters.as_str())
            }
            _ => title.to_owned(),
        }
    }
}

pub(super) const STDIO: Course = Course {
    route: Route::Stdio,
    prefix: "",
    remark: "",
    targets: Targets {
        added: 1.2,
        cpu: 1.5,
        throughput: 0.9,
        cpu_in_flight: None,
        large: Some(1.3),
    },
};

pub(super) const HTTP: [Course; 2] = [
    Course {
        route: over_http(Servers::Http),
        prefix: "HTTP → HTTP: ",
        remark: " Clients and children over HTTP.",
        targets: HTTP_TARGETS,
    },
    Course {
        route: over_http(Servers::Stdio),
        prefix: "HTTP → stdio: ",
        remark: " Clients over HTTP, children over stdio; direct is the child over HTTP, which is what a client over \
                 HTTP would have otherwise.",
        targets: HTTP_TARGETS,
    },
];

/// Compared with the legacy era; the targets are the same.
pub(super) const MODERN: [Course; 2] = [
    Course { prefix: "Modern, stdio → stdio: ", ..STDIO },
    Course { prefix: "Modern, HTTP → HTTP: ", ..HTTP[0] },
];

const HTTP_TARGETS: Targets =
    Targets { added: 1.3, cpu: 1.5, throughput: 0.8, cpu_in_flight: Some(1.5), large: None };

const fn over_http(servers: Servers) -> Route {
    Route::Http(Http { servers, connections: 1, sessions: Sessions::One })
}
