//! A call as a span.

use super::parent::{Parent, SpanId, TraceId};

/// Times are nanoseconds since 1970. Neither arguments nor results are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    /// As in `tools/call`.
    pub method: String,
    /// The server's own name of it.
    pub tool: Option<String>,
    pub server: String,
    pub outcome: Outcome,
    pub start: u64,
    pub end: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    /// A word for it, as in the metrics.
    Failed(String),
}

impl Span {
    /// Ids for a call that came with this parent, or with none. None where the parent asks not to be
    /// recorded, or where there are no random numbers.
    pub fn ids(parent: Option<Parent>) -> Option<(TraceId, SpanId)> {
        match parent {
            Some(parent) if !parent.is_sampled => None,
            Some(parent) => Some((parent.trace, SpanId::random()?)),
            None => Some((TraceId::random()?, SpanId::random()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_belongs_to_its_parents_trace() {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = Parent::read(header).unwrap();
        let (trace, span) = Span::ids(Some(parent)).unwrap();
        assert_eq!(trace, parent.trace);
        assert_ne!(span, parent.span);
        assert_eq!(Span::ids(Some(Parent { is_sampled: false, ..parent })), None);
        assert_ne!(Span::ids(None).unwrap().0, parent.trace);
    }
}
