//! Hides the prefix from the suite: `conformance-shim --listen ADDR --upstream URL --prefix P`.

use std::io;
use std::process::ExitCode;

use tokio::net::TcpListener;

const USAGE: &str = "usage: conformance-shim --listen ADDR --upstream URL --prefix PREFIX";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conformance-shim: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["--listen", address, "--upstream", url, "--prefix", prefix] = arguments.as_slice() else {
        return Err(io::Error::other(USAGE));
    };
    let authority = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
    let upstream = authority.ok_or_else(|| io::Error::other(USAGE))?.to_owned();
    let listener = TcpListener::bind(address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let shim = conformance::Shim { upstream, prefix: (*prefix).to_owned() };
    conformance::run_shim(listener, shim).await
}
