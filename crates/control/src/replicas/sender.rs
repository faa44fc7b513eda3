//! `ReplicaSender`: brings what is sealed for another replica there, and its answer back.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use trunkline_gateway::{ReplicaAnswer, ReplicaBody, ReplicaFault, SealedRequest, WaitingFor};
use trunkline_http::Url;

use crate::net::{Streaming, StreamingFault};

/// Where requests of other replicas are taken.
const PATH: &str = "/replicas/forward";

#[derive(Debug, Clone)]
pub(super) struct ReplicaSender {
    client: Arc<Streaming>,
}

impl ReplicaSender {
    pub(super) fn new() -> Self {
        Self { client: Arc::new(Streaming::new()) }
    }

    /// To the replica at this address.
    pub(super) async fn send(
        &self,
        base: &Url,
        request: SealedRequest,
    ) -> Result<ReplicaAnswer, ReplicaFault> {
        let url = format!("{}{PATH}", base.to_string().trim_end_matches('/'));
        let SealedRequest { headers, body } = request;
        let answer = self.client.post(&url, &headers, body).await.map_err(|fault| match fault {
            // Nothing listens there: the process is gone, and whatever it held.
            StreamingFault::NobodyThere => ReplicaFault::Gone,
            StreamingFault::NotConnected(why) => ReplicaFault::Unreachable(why),
            StreamingFault::Broken(why) => ReplicaFault::Broken(why),
        })?;
        let (head, body) = answer.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        Ok(ReplicaAnswer {
            status: head.status.as_u16(),
            headers: headers.collect(),
            body: Box::new(Pieces(body)),
        })
    }
}

struct Pieces(Incoming);

impl ReplicaBody for Pieces {
    fn next(&mut self) -> WaitingFor<'_, Option<Result<Bytes, String>>> {
        Box::pin(async {
            loop {
                match self.0.frame().await? {
                    // Trailers say nothing here.
                    Ok(frame) => match frame.into_data() {
                        Ok(data) => return Some(Ok(data)),
                        Err(_) => continue,
                    },
                    Err(error) => return Some(Err(error.to_string())),
                }
            }
        })
    }
}
