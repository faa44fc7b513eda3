//! The fixture on a transport: stdio, or Streamable HTTP at `/mcp`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, stdio};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::era::Era;
use crate::server::Fixture;
use crate::sessions::Sessions;

/// How long a client is told to wait before it comes back to a stream that was closed.
const RETRY: Duration = Duration::from_millis(100);

/// How a request without a session is answered when nothing precedes the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Json,
    Events,
}

/// Serves one client on stdin and stdout until it goes.
pub async fn over_stdio(era: Era) -> io::Result<()> {
    let service = Fixture::new(era).serve(stdio()).await.map_err(io::Error::other)?;
    service.waiting().await.map(drop).map_err(io::Error::other)
}

/// Serves everybody who connects, until the process is ended.
pub async fn over_http(listener: TcpListener, era: Era, answers: Answers) -> io::Result<()> {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.sse_retry = Some(RETRY);
    let modern = era == Era::Modern;
    let config = StreamableHttpServerConfig::default()
        .with_sse_retry(Some(RETRY))
        .with_json_response(answers == Answers::Json)
        .with_legacy_session_mode(!modern)
        .with_stateless_protocol_metadata_required(modern);
    let fixture = Fixture::new(era);
    let sessions = Arc::new(Sessions(sessions));
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), sessions, config);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        connections.spawn(async move {
            let server = Builder::new(TokioExecutor::new());
            // A connection that fails has failed for its client, who says so.
            drop(server.serve_connection(TokioIo::new(stream), service).await);
        });
        while connections.try_join_next().is_some() {}
    }
}
