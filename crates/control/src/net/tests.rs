//! The client against servers on loopback that say exact bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trunkline_http::Url;
use trunkline_http::proxy::Proxies;

use super::connect::Connector;
use super::fake::{Answer, Asked, Fake};
use super::{Client, FetchError, Judge, Limits, Redirects, Request, Response};

const AUTHORITY: &[u8] =
    include_bytes!("../../../gateway/src/upstream/http/testdata/authority.pem");
const CERTIFICATE: &[u8] =
    include_bytes!("../../../gateway/src/upstream/http/testdata/localhost.pem");
const KEY: &[u8] = include_bytes!("../../../gateway/src/upstream/http/testdata/localhost.key.pem");

const LIMITS: Limits = Limits { deadline: Duration::from_secs(20), max_body: 1000 };

fn anywhere() -> Client {
    Client::new(Arc::new(|_| Ok(())))
}

fn proxies(variables: &[(&str, &str)]) -> Proxies {
    let owned = variables.iter().map(|(name, value)| (name.into(), value.into()));
    let (proxies, faults) = Proxies::read(&owned.collect::<Vec<_>>());
    assert_eq!(faults, []);
    proxies
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
    assert!(asked.header("user-agent").unwrap().starts_with("trunkline/"));
    assert_eq!(asked.header("content-length"), Some("500000"));
    assert_eq!(asked.header("content-type"), Some("text/plain"));
    // No more than that: no cookies, nothing about the connection.
    assert_eq!(asked.headers.len(), 6, "{:?}", asked.headers);
    assert_eq!(asked.body, large);
}

#[tokio::test]
async fn an_agent_of_the_callers_counts_and_an_answer_to_head_has_no_body() {
    let (heard, handler) = listener();
    let fake = Fake::start(handler).await;
    let url = Url::parse(&fake.url("/")).unwrap();
    let request = Request::new("HEAD", url, None).header("user-agent", "me");
    let answer = anywhere().send(request, LIMITS).await.unwrap();
    assert_eq!((answer.status, answer.text("content-length")), (200, Some("2")));
    assert_eq!(answer.body, b"");
    let asked = heard.lock().pop().unwrap();
    assert_eq!(asked.header("user-agent"), Some("me"));
    assert_eq!(asked.header("content-length"), None);
}

#[tokio::test]
async fn a_connection_is_used_again_by_requests_that_may_be_repeated() {
    let fake = Fake::start(|_| Answer::open(200, "ok")).await;
    let client = anywhere();
    let count = || fake.connections.load(Ordering::Relaxed);
    for _ in 0..5 {
        let url = Url::parse(&fake.url("/")).unwrap();
        let request = Request::post(url, "text/plain", b"x".to_vec()).repeatable();
        assert_eq!(client.send(request, LIMITS).await.unwrap().body, b"ok");
        assert_eq!(client.send(get(&fake.url("/")), LIMITS).await.unwrap().body, b"ok");
    }
    assert_eq!(count(), 1);
    for _ in 0..3 {
        let url = Url::parse(&fake.url("/")).unwrap();
        let request = Request::post(url, "text/plain", b"x".to_vec());
        assert_eq!(client.send(request, LIMITS).await.unwrap().body, b"ok");
    }
    assert_eq!(count(), 4);
}

/// Its end may be noticed before the next request, while it is sent, or behind it.
#[tokio::test]
async fn a_server_that_closes_each_connection_without_saying_so_is_understood() {
    let fake =
        Fake::start(|_| Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()))
            .await;
    let client = anywhere();
    for _ in 0..50 {
        assert_eq!(client.send(get(&fake.url("/")), LIMITS).await.unwrap().body, b"ok");
        let url = Url::parse(&fake.url("/")).unwrap();
        let request = Request::post(url, "text/plain", b"x".to_vec());
        assert_eq!(client.send(request, LIMITS).await.unwrap().body, b"ok");
    }
    assert_eq!(fake.connections.load(Ordering::Relaxed), 100);
}

#[tokio::test]
async fn bodies_of_every_framing_are_read_and_a_status_is_no_error() {
    for (bytes, status) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokXXX"[..], 200),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            200,
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nok", 200),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n\
              HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            200,
        ),
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
    let larger = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1_000_000));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(20);
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    for (bytes, words) in [
        (&b""[..], "malformed: the connection ended without one"),
        (b"SSH-2.0-Open\r\n\r\n", "malformed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", "the body ended early"),
        (large.as_bytes(), "larger than 1000 bytes"),
        (endless.as_bytes(), "larger than 1000 bytes"),
        (head.as_bytes(), "header is too large"),
        (larger.as_bytes(), "head is too large"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "malformed: the connection ended"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", "ended early"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            "malformed: the chunked body is malformed",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "Content-Length and Transfer-Encoding exclude each other",
        ),
        (b"HTTP/1.1 101 Switch\r\n\r\n", "switches to another protocol"),
        (interim.as_bytes(), "malformed"),
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

/// Nothing is resolved here: `.invalid` has no addresses.
#[tokio::test]
async fn a_proxy_is_told_the_whole_url_and_no_proxy_is_honoured() {
    let (heard, handler) = listener();
    let proxy = Fake::start(handler).await;
    let named = format!("http://me:s3cret@{}", proxy.address);
    let matcher = proxies(&[("HTTP_PROXY", &named), ("NO_PROXY", "direct.invalid")]);
    let judge: Judge = Arc::new(|address| match address.is_loopback() {
        true => Err("see --allow-net".to_owned()),
        false => Ok(()),
    });
    // The proxy is on the loopback: who has named it is the operator, whom nobody judges.
    let client = Client::over(Connector::new(judge).through(matcher));
    let answer = client.send(get("http://tools.invalid/a?b=c").header("X-A", "b"), LIMITS).await;
    assert_eq!(answer.unwrap().body, b"ok");
    let asked = heard.lock().pop().unwrap();
    assert_eq!(asked.target, "http://tools.invalid/a?b=c");
    assert_eq!(asked.header("host"), Some("tools.invalid"));
    assert_eq!(asked.header("proxy-authorization"), Some("Basic bWU6czNjcmV0"));

    let error = client.send(get("http://direct.invalid/"), LIMITS).await.unwrap_err();
    assert!(matches!(error, FetchError::Dns { .. }), "{error}");
    // This machine, which is not reached through a proxy; and texts that a proxy could take for it.
    for host in ["localhost:1", "127.0.0.1:1", "[::1]:1"] {
        let error = client.send(get(&format!("http://{host}/")), LIMITS).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused { .. }), "{host}: {error}");
    }
    for host in ["2130706433", "0x7f.1", "127.1"] {
        let error = client.send(get(&format!("http://{host}/")), LIMITS).await.unwrap_err();
        assert!(matches!(error, FetchError::Request(_)), "{host}: {error}");
    }
    assert!(heard.lock().is_empty());
}

#[tokio::test]
async fn an_address_is_judged_before_a_proxy_hears_of_it() {
    let (heard, handler) = listener();
    let proxy = Fake::start(handler).await;
    let matcher = proxies(&[("ALL_PROXY", &proxy.url("/"))]);
    let judge: Judge = Arc::new(|_| Err("see --allow-net".to_owned()));
    let client = Client::over(Connector::new(judge).through(matcher));
    for url in ["http://10.0.0.1/", "https://10.0.0.1/", "http://metadata.google.internal/"] {
        let error = client.send(get(url), LIMITS).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused { .. }), "{url}: {error}");
    }
    assert!(heard.lock().is_empty());
}

#[tokio::test]
async fn encryption_goes_through_a_tunnel_and_a_proxy_that_refuses_is_named() {
    let (heard, handler) = listener();
    let server = Fake::secured(server_config(), handler).await;
    let (target, tunnels) = (server.address, Arc::new(Mutex::new(Vec::new())));
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = proxy.local_addr().unwrap();
    let told = Arc::clone(&tunnels);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = proxy.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let answer = match head.contains("Proxy-Authorization: Basic bWU6czNjcmV0") {
                true => "HTTP/1.1 200 Connected\r\n\r\n",
                false => "HTTP/1.1 407 Who\r\n\r\n",
            };
            told.lock().push(head);
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut server = TcpStream::connect(target).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
        }
    });
    let client = |user: &str| {
        let matcher = proxies(&[("HTTPS_PROXY", &format!("http://{user}{address}"))]);
        let connector = Connector::new(Arc::new(|_| Ok(()))).through(matcher);
        Client::over(connector.trusting(trusting(AUTHORITY)))
    };
    let answer = client("me:s3cret@").send(get("https://tools.invalid:8443/"), LIMITS).await;
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("https://tools.invalid:8443 cannot be reached securely"), "{error}");
    // The certificate came all the way; it is for `localhost`.
    assert!(error.contains("certificate not valid for name"), "{error}");
    assert!(tunnels.lock()[0].starts_with("CONNECT tools.invalid:8443 HTTP/1.1\r\n"));

    let error = client("").send(get("https://tools.invalid/"), LIMITS).await.unwrap_err();
    let said = error.to_string();
    assert!(said.contains(&format!("its proxy http://{address}")), "{said}");
    assert!(said.contains("authorization required") && error.may_retry(), "{said}");
    assert!(heard.lock().is_empty());
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
