//! The client against servers on loopback that say exact bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use trunkline_http::Url;

use super::fake::{Answer, Asked, Fake};
use super::{Client, FetchError, Judge, Limits, Redirects, Request, Response};

const AUTHORITY: &[u8] =
    include_bytes!("../../../gateway/src/upstream/remote/testdata/authority.pem");
const CERTIFICATE: &[u8] =
    include_bytes!("../../../gateway/src/upstream/remote/testdata/localhost.pem");
const KEY: &[u8] =
    include_bytes!("../../../gateway/src/upstream/remote/testdata/localhost.key.pem");

const LIMITS: Limits = Limits { deadline: Duration::from_secs(20), max_body: 1000 };

fn anywhere() -> Client {
    Client::new(Arc::new(|_| Ok(())))
}

fn get(url: &str) -> Request {
    Request::get(Url::parse(url).unwrap())
}

async fn answered(bytes: &[u8]) -> Result<Response, FetchError> {
    let bytes = bytes.to_vec();
    let fake = Fake::start(move |_| Answer::Bytes(bytes.clone())).await;
    anywhere().send(get(&fake.url("/")), LIMITS).await
}

/// Remembers what it was asked.
fn listener() -> (Arc<Mutex<Vec<Asked>>>, impl Fn(Asked) -> Answer) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    (heard, move |asked| {
        ears.lock().push(asked);
        Answer::with(200, &[], "ok")
    })
}

#[tokio::test]
async fn a_request_arrives_as_it_was_made() {
    let (heard, handler) = listener();
    let fake = Fake::start(handler).await;
    let url = Url::parse(&fake.url("/a?b=c")).unwrap();
    let large = vec![b'x'; 500_000];
    let request = Request::post(url, "text/plain", large.clone()).header("X-One", "1");
    let answer = anywhere().send(request, LIMITS).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice(), answer.is_success()),
        (200, &b"ok"[..], true)
    );
    let asked = heard.lock().pop().unwrap();
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/a?b=c"));
    assert_eq!(asked.header("host"), Some(fake.address.to_string().as_str()));
    assert_eq!(asked.header("accept-encoding"), Some("identity"));
    assert_eq!(asked.header("x-one"), Some("1"));
    assert_eq!(asked.header("cookie"), None);
    assert_eq!(asked.body, large);
}

#[tokio::test]
async fn bodies_of_every_framing_are_read_and_a_status_is_no_error() {
    for (bytes, status) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..], 200),
        (b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 503),
        (b"HTTP/1.1 404 No\r\n\r\nok", 404),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 2\r\n\r\nok", 302),
    ] {
        let answer = answered(bytes).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (status, &b"ok"[..]));
    }
}

#[tokio::test]
async fn broken_and_oversized_answers_are_errors() {
    let large = format!("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n{}", "x".repeat(1001));
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100_000));
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    for (bytes, words) in [
        (&b""[..], "malformed: the connection ended without one"),
        (b"SSH-2.0-Open\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "the body ended early"),
        (large.as_bytes(), "larger than 1000 bytes"),
        (endless.as_bytes(), "larger than 1000 bytes"),
        (head.as_bytes(), "header is too large"),
    ] {
        let error = answered(bytes).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn an_address_that_is_refused_hears_nothing() {
    let (heard, handler) = listener();
    let fake = Fake::start(handler).await;
    let port = fake.address.port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&asked);
    let judge: Judge = Arc::new(move |address| {
        ears.lock().push(address);
        Err("see --allow-net".to_owned())
    });
    let client = Client::new(judge);
    // A literal, a name, and spellings that only the system's resolver takes for an address.
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1"] {
        let error = client.send(get(&format!("http://{host}:{port}/")), LIMITS).await.unwrap_err();
        let FetchError::Refused { address, hint, .. } = &error else { panic!("{host}: {error}") };
        assert!(address.is_loopback(), "{host}: {address}");
        assert_eq!(hint, "see --allow-net");
        assert!(!error.may_retry());
    }
    assert!(asked.lock().iter().all(IpAddr::is_loopback) && asked.lock().len() >= 5);
    assert!(heard.lock().is_empty());
}

#[tokio::test]
async fn a_redirect_is_followed_at_the_same_origin_when_asked_and_each_hop_is_judged() {
    let fake = Fake::start(|asked| match asked.target.as_str() {
        "/1" => Answer::with(302, &[("Location", "/2")], ""),
        "/2" => Answer::with(308, &[("Location", "3")], ""),
        "/3" => Answer::with(200, &[], "there"),
        "/loop" => Answer::with(307, &[("Location", "/loop")], ""),
        _ => Answer::with(307, &[("Location", "http://192.0.2.1/")], ""),
    })
    .await;
    let judged = Arc::new(Mutex::new(0));
    let count = Arc::clone(&judged);
    let client = Client::new(Arc::new(move |_| {
        *count.lock() += 1;
        Ok(())
    }));
    let follow =
        |target: &str| client.send(get(&fake.url(target)).following(Redirects::SameOrigin), LIMITS);
    assert_eq!(follow("/1").await.unwrap().body, b"there");
    assert_eq!(*judged.lock(), 3);
    for (target, words) in [("/loop", "too many"), ("/away", "leads elsewhere")] {
        let error = follow(target).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test]
async fn silence_ends_with_the_deadline() {
    let fake = Fake::start(|_| Answer::Silence).await;
    let limits = Limits { deadline: Duration::from_millis(50), ..LIMITS };
    let error = anywhere().send(get(&fake.url("/?key=hidden")), limits).await.unwrap_err();
    assert!(matches!(error, FetchError::Timeout { .. }), "{error}");
    assert!(error.may_retry() && !error.to_string().contains("hidden"), "{error}");
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = anywhere().send(get(&url), LIMITS).await.unwrap_err();
    assert!(
        matches!(&error, FetchError::Connect { why, .. } if why == "connection refused"),
        "{error}"
    );
    let error = anywhere().send(get("http://no-such-name.invalid/"), LIMITS).await.unwrap_err();
    assert!(matches!(error, FetchError::Dns { .. }), "{error}");
}

#[tokio::test]
async fn encryption_is_agreed_on_with_whom_the_certificate_names() {
    let fake = Fake::secured(server_config(), |_| Answer::with(200, &[], "secret")).await;
    let port = fake.address.port();
    let client = anywhere().trusting(trusting(AUTHORITY));
    let answer = client.send(get(&format!("https://localhost:{port}/")), LIMITS).await.unwrap();
    assert_eq!(answer.body, b"secret");

    let stranger = anywhere().trusting(trusting_nobody());
    let plain = Fake::start(|_| Answer::with(200, &[], "")).await;
    for (client, url) in [
        (&stranger, format!("https://localhost:{port}/")),
        (&client, format!("https://127.0.0.1:{port}/")),
        (&client, format!("https://localhost:{}/", plain.address.port())),
    ] {
        let result = client.send(get(&url), LIMITS).await;
        assert!(matches!(result, Err(FetchError::Tls { .. })), "{url} {result:?}");
    }
}

fn server_config() -> ServerConfig {
    let certificates = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    builder.with_no_client_auth().with_single_cert(certificates, key).unwrap()
}

fn trusting(authority: &[u8]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
    client_config(roots)
}

fn trusting_nobody() -> Arc<ClientConfig> {
    client_config(RootCertStore::empty())
}

fn client_config(roots: RootCertStore) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}
