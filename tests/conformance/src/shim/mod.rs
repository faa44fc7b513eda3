//! Adds the prefix to the tools the suite calls, and takes it off those the gateway lists.

mod http;
mod rename;

use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use http::{Framing, Head, Reader};

/// Where the shim passes everything on to, and what it puts before the names of tools.
#[derive(Debug)]
pub struct Shim {
    /// `HOST:PORT` of the gateway.
    pub upstream: String,
    /// As the gateway writes it: `fixture.`.
    pub prefix: String,
}

/// Serves everybody who connects, until the process is ended. Paths, `Host`, `Origin` and all other
/// headers go through as they are: what the suite checks about them, it must check on the gateway.
/// Only `Mcp-Name` repeats the body and follows it.
pub async fn run(listener: TcpListener, shim: Shim) -> io::Result<()> {
    let shim = Arc::new(shim);
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await?;
        let shim = Arc::clone(&shim);
        connections.spawn(async move {
            // Whatever ends one side ends the other, so the suite sees what the gateway did.
            drop(connection(&shim, &client).await);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(shim: &Shim, client: &TcpStream) -> io::Result<()> {
    let upstream = TcpStream::connect(&shim.upstream).await?;
    upstream.set_nodelay(true)?;
    client.set_nodelay(true)?;
    let (mut requests, mut answers) = (Reader::new(client), Reader::new(&upstream));
    while let Some(head) = requests.head().await? {
        let sent = requests.body(head.framing_of_request()?).await?;
        let body = rename::request(&sent, &shim.prefix);
        // What the header says about the body must stay as true, or as false, as it was.
        let head = if body == sent { head } else { head.prefixed("mcp-name", &shim.prefix) };
        let head = if body.is_empty() { head.bytes } else { head.with_length(body.len()) };
        send(&upstream, &[&head, &body]).await?;
        // A client that goes while it waits must be missed by the gateway, too.
        tokio::select! {
            answered = answer(shim, client, &mut answers) => if !answered? { return Ok(()) },
            () = gone(client) => return Ok(()),
        }
    }
    Ok(())
}

/// Passes one answer on; false when nothing can follow it on this connection.
async fn answer(shim: &Shim, client: &TcpStream, answers: &mut Reader<'_>) -> io::Result<bool> {
    let Some(head) = answers.head().await? else { return Ok(false) };
    let framing = head.framing_of_response()?;
    if head.is_event_stream() && matches!(framing, Framing::Chunked | Framing::UntilClose) {
        stream(shim, client, answers, &head, framing).await?;
    } else {
        let body = rename::answer(&answers.body(framing).await?, &shim.prefix);
        let empty = framing == Framing::None;
        let head = if empty { head.bytes } else { head.with_length(body.len()) };
        send(client, &[&head, &body]).await?;
    }
    Ok(framing != Framing::UntilClose)
}

/// Passes events on as they come, line by line.
async fn stream(
    shim: &Shim,
    client: &TcpStream,
    answers: &mut Reader<'_>,
    head: &Head,
    framing: Framing,
) -> io::Result<()> {
    send(client, &[&head.bytes]).await?;
    let chunked = framing == Framing::Chunked;
    let mut lines = Vec::new();
    loop {
        let piece = answers.piece(framing).await?;
        let last = piece.is_none();
        lines.extend(piece.unwrap_or_default());
        let whole = match lines.iter().rposition(|&byte| byte == b'\n') {
            _ if last => lines.len(),
            Some(end) => end + 1,
            None => 0,
        };
        let text: Vec<u8> = lines.drain(..whole).collect();
        let text = rename::answer(&text, &shim.prefix);
        if !text.is_empty() && chunked {
            let length = format!("{:x}\r\n", text.len());
            send(client, &[length.as_bytes(), &text, b"\r\n"]).await?;
        } else {
            send(client, &[&text]).await?;
        }
        if last {
            return if chunked { send(client, &[b"0\r\n\r\n"]).await } else { Ok(()) };
        }
    }
}

/// Comes back when the client has closed its side.
async fn gone(client: &TcpStream) {
    let mut byte = [0];
    match client.peek(&mut byte).await {
        Ok(0) | Err(_) => {}
        // The next request is waiting already, so the client is there.
        Ok(_) => std::future::pending().await,
    }
}

async fn send(to: &TcpStream, parts: &[&[u8]]) -> io::Result<()> {
    let bytes = parts.concat();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        to.writable().await?;
        match to.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
