//! The fixture server of the conformance suite: `conformance-server --stdio | --listen ADDR`.

use std::io;
use std::process::ExitCode;

use tokio::net::TcpListener;

const USAGE: &str = "usage: conformance-server --stdio | --listen ADDR";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--stdio"] => conformance::over_stdio().await,
        ["--listen", address] => {
            let listener = TcpListener::bind(address).await?;
            eprintln!("listening on http://{}/mcp", listener.local_addr()?);
            conformance::over_http(listener).await
        }
        _ => Err(io::Error::other(USAGE)),
    }
}
