//! The fixture server of the conformance suite, on stdio or over HTTP, in either era or both.

use std::io;
use std::process::ExitCode;

use conformance::{Answers, Era};
use tokio::net::TcpListener;

const USAGE: &str =
    "usage: conformance-server [--era dual|legacy|modern] --stdio | --listen ADDR [--json]";

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
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (era, rest) = match arguments.as_slice() {
        ["--era", era, rest @ ..] => (era.parse().map_err(io::Error::other)?, rest),
        rest => (Era::Dual, rest),
    };
    match rest {
        ["--stdio"] => conformance::over_stdio(era).await,
        ["--listen", address] => listen(address, era, Answers::Events).await,
        ["--listen", address, "--json"] => listen(address, era, Answers::Json).await,
        _ => Err(io::Error::other(USAGE)),
    }
}

async fn listen(address: &str, era: Era, answers: Answers) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    conformance::over_http(listener, era, answers).await
}
