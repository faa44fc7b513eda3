//! Who we are to an authorization server: a client it knows, a document, or one it registers.

use serde_json::{Value, json};
use trunkline_http::Url;

use crate::oauth::issuer::Issuer;
use crate::oauth::places::is_loopback;
use crate::oauth::secret::Secret;

/// A client that somebody registered by hand, as configured for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Where. Without it a client has no secret that is sent; its id goes to the issuer of the first login.
    pub issuer: Option<String>,
    pub client_id: String,
    pub client_secret: Option<Secret>,
}

/// Who we are to one issuer. It is kept with the grant and goes to no other issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) auth: Auth,
    /// For dynamically registered ones: where it may be redirected to, and when (ms) its secret ends.
    pub(crate) redirect_uri: Option<String>,
    pub(crate) expires_at: Option<i64>,
}

/// How a client proves who it is at the token endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    None,
    Basic(Secret),
    Post(Secret),
}

impl OAuthClient {
    /// With its secret in the form instead of the header, where nothing was agreed on: a client that
    /// registered itself was told how.
    pub(crate) fn other_way(&self) -> Option<Self> {
        match &self.auth {
            // A redirect address is remembered only of clients that registered themselves.
            Auth::Basic(secret) if self.redirect_uri.is_none() => {
                Some(Self { auth: Auth::Post(secret.clone()), ..self.clone() })
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientSource {
    Ready(OAuthClient),
    /// To be registered there, with this method of authentication.
    Dynamic(Url, &'static str),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoClient {
    #[error("the configured client belongs to {0}, and its credentials go nowhere else")]
    Elsewhere(String),
    #[error(
        "the configured client has a secret but no issuer, and the server alone names this one; set \
         `oauth.issuer` to the issuer that the secret was given by"
    )]
    NoIssuer,
    #[error("it takes the client's secret in no way that is known here")]
    Method,
    #[error(
        "it knows no way to make this client known to it; register one there by hand and configure \
         its id"
    )]
    Unknown,
}

/// What there is to choose from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientOptions<'a> {
    pub(super) given: Option<&'a Registered>,
    /// The client of an earlier login, and with which issuer.
    pub(super) earlier: Option<(&'a str, &'a OAuthClient)>,
    /// Where our metadata document is published.
    pub(super) document: Option<&'a str>,
    pub(super) redirect_uri: &'a str,
    pub(super) now: i64,
}

/// By hand, then document, then dynamically: the order of the specification.
pub(super) fn choose(
    issuer: &Issuer,
    options: ClientOptions<'_>,
) -> Result<ClientSource, NoClient> {
    if let Some(given) = options.given {
        return by_hand(issuer, given, options.earlier).map(ClientSource::Ready);
    }
    // Client ID metadata documents need no state at the issuer, so that they go before registration
    // (2025-11-25, Authorization).
    if let Some(document) =
        options.document.filter(|url| issuer.takes_documents && is_document(url))
    {
        return Ok(ClientSource::Ready(public(document)));
    }
    let earlier = options.earlier.filter(|(at, _)| *at == issuer.id).map(|(_, client)| client);
    let usable = |client: &&OAuthClient| {
        // Issuers compare redirect addresses byte for byte; a client for another port is of no use.
        client.redirect_uri.as_deref() == Some(options.redirect_uri)
            && client.expires_at.is_none_or(|end| options.now < end)
    };
    if let Some(client) = earlier.filter(usable) {
        return Ok(ClientSource::Ready(client.clone()));
    }
    let endpoint = issuer.registration.clone().ok_or(NoClient::Unknown)?;
    // RFC 8414: without a list the default is `client_secret_basic`, but for a registration any may
    // be asked for.
    let offered = |method: &&str| match &issuer.auth_methods {
        None => true,
        Some(methods) => methods.iter().any(|listed| listed == method),
    };
    // `none` first: a secret that does not exist cannot leak, and PKCE protects the code.
    let method = ["none", "client_secret_basic", "client_secret_post"].into_iter().find(offered);
    Ok(ClientSource::Dynamic(endpoint, method.ok_or(NoClient::Method)?))
}

fn by_hand(
    issuer: &Issuer,
    given: &Registered,
    earlier: Option<(&str, &OAuthClient)>,
) -> Result<OAuthClient, NoClient> {
    let used_at = earlier.filter(|(_, client)| client.id == given.client_id).map(|(at, _)| at);
    // A client's secret goes to the issuer it was made for and nowhere else, whatever the server
    // says now.
    if let Some(bound) = given.issuer.as_deref().or(used_at).filter(|bound| *bound != issuer.id) {
        return Err(NoClient::Elsewhere(bound.to_owned()));
    }
    let Some(secret) = &given.client_secret else { return Ok(public(&given.client_id)) };
    // A record of an older version. What an earlier login used proves nothing: after a logout it is gone.
    if given.issuer.is_none() {
        return Err(NoClient::NoIssuer);
    }
    let auth = match &issuer.auth_methods {
        None => Auth::Basic(secret.clone()), // what RFC 8414 says when nothing is said
        Some(methods) if methods.iter().any(|method| method == "client_secret_basic") => {
            Auth::Basic(secret.clone())
        }
        Some(methods) if methods.iter().any(|method| method == "client_secret_post") => {
            Auth::Post(secret.clone())
        }
        Some(_) => return Err(NoClient::Method),
    };
    Ok(OAuthClient { auth, ..public(&given.client_id) })
}

fn public(id: &str) -> OAuthClient {
    OAuthClient { id: id.to_owned(), auth: Auth::None, redirect_uri: None, expires_at: None }
}

fn is_document(url: &str) -> bool {
    // The draft of metadata documents demands https and a path.
    url.starts_with("https://") && Url::parse(url).is_ok_and(|url| url.path() != "/")
}

/// What is sent to be registered.
pub(super) fn application(
    name: &str,
    redirect_uri: &str,
    method: &str,
    scope: Option<&str>,
) -> Vec<u8> {
    let local = Url::parse(redirect_uri).is_ok_and(|url| is_loopback(&url));
    let mut document = json!({
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        // OpenID registration: `native` allows http on the loopback, `web` refuses it.
        "application_type": if local { "native" } else { "web" },
    });
    if let (Some(scope), Some(document)) = (scope, document.as_object_mut()) {
        document.insert("scope".to_owned(), scope.into());
    }
    document.to_string().into_bytes()
}

/// Who we are, as it is published: its address is our id (client ID metadata document).
pub fn document(id: &str, name: &str, redirect_uri: &str) -> Value {
    json!({
        "client_id": id,
        "client_name": name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

/// The client an authorization server has registered; `None` if the answer makes no sense.
pub(super) fn registered(body: &[u8], redirect_uri: &str, asked: &str) -> Option<OAuthClient> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let text =
        |name: &str| document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("client_id")?;
    // RFC 7591, 3.2.1: the server may change what was asked for, and what it says counts.
    let method = text("token_endpoint_auth_method").unwrap_or(asked);
    let auth = match (method, text("client_secret")) {
        ("none", _) => Auth::None,
        ("client_secret_basic", Some(secret)) => Auth::Basic(Secret::new(secret)),
        ("client_secret_post", Some(secret)) => Auth::Post(Secret::new(secret)),
        _ => return None,
    };
    let end = document.get("client_secret_expires_at").and_then(Value::as_i64);
    // RFC 7591, 3.2.1: zero means that the secret does not expire.
    let end = end.filter(|seconds| *seconds > 0 && auth != Auth::None);
    Some(OAuthClient {
        id: id.to_owned(),
        auth,
        redirect_uri: Some(redirect_uri.to_owned()),
        expires_at: end.map(|seconds| seconds.saturating_mul(1000)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "http://127.0.0.1:7/callback";
    const DOCUMENT: &str = "https://me/client.json";

    fn issuer(documents: bool, registration: bool, methods: Option<&[&str]>) -> Issuer {
        let url = |text: &str| Url::parse(text).unwrap();
        let methods = methods.map(|list| list.iter().map(|method| (*method).to_owned()).collect());
        Issuer {
            id: "https://a".to_owned(),
            authorization: url("https://a/authorize"),
            token: url("https://a/token"),
            registration: registration.then(|| url("https://a/register")),
            revocation: None,
            auth_methods: methods,
            scopes: Vec::new(),
            says_iss: false,
            takes_documents: documents,
        }
    }

    fn given(issuer: Option<&str>, secret: Option<&str>) -> Registered {
        Registered {
            issuer: issuer.map(str::to_owned),
            client_id: "hand".to_owned(),
            client_secret: secret.map(Secret::new),
        }
    }

    fn dynamic(id: &str, redirect_uri: &str, expires_at: Option<i64>) -> OAuthClient {
        OAuthClient { redirect_uri: Some(redirect_uri.to_owned()), expires_at, ..public(id) }
    }

    fn options<'a>() -> ClientOptions<'a> {
        ClientOptions { given: None, earlier: None, document: None, redirect_uri: HERE, now: 1000 }
    }

    #[test]
    fn a_client_registered_by_hand_goes_first_and_only_to_its_issuer() {
        let secret = || Secret::new("s");
        let with = |auth: Auth| Ok(ClientSource::Ready(OAuthClient { auth, ..public("hand") }));
        let used = public("hand");
        for (at, secret_given, methods, earlier, expected) in [
            (None, None, None, None, with(Auth::None)),
            (Some("https://a"), Some("s"), None, None, with(Auth::Basic(secret()))),
            (
                Some("https://a"),
                Some("s"),
                Some(&["client_secret_post"][..]),
                None,
                with(Auth::Post(secret())),
            ),
            (Some("https://a"), Some("s"), Some(&["private_key_jwt"]), None, Err(NoClient::Method)),
            (None, Some("s"), None, None, Err(NoClient::NoIssuer)),
            (None, Some("s"), None, Some("https://a"), Err(NoClient::NoIssuer)),
            (
                Some("https://b"),
                Some("s"),
                None,
                None,
                Err(NoClient::Elsewhere("https://b".into())),
            ),
            (None, None, None, Some("https://a"), with(Auth::None)),
            (None, None, None, Some("https://b"), Err(NoClient::Elsewhere("https://b".into()))),
        ] {
            let given = given(at, secret_given);
            let earlier = earlier.map(|at| (at, &used));
            let document = Some(DOCUMENT);
            let options = ClientOptions { given: Some(&given), earlier, document, ..options() };
            assert_eq!(
                choose(&issuer(true, true, methods), options),
                expected,
                "{at:?} {methods:?}"
            );
        }
    }

    #[test]
    fn a_document_goes_before_dynamic_registration_where_it_is_taken() {
        let register = || Url::parse("https://a/register").unwrap();
        let ready = |url: &str| Ok(ClientSource::Ready(public(url)));
        let anew = |method| Ok(ClientSource::Dynamic(register(), method));
        for (takes, registers, methods, document, expected) in [
            (true, true, None, Some(DOCUMENT), ready(DOCUMENT)),
            (false, true, None, Some(DOCUMENT), anew("none")),
            (true, true, None, Some("http://me/client.json"), anew("none")),
            (true, true, None, Some("https://me/"), anew("none")),
            (true, true, Some(&["client_secret_post", "none"][..]), None, anew("none")),
            (true, true, Some(&["client_secret_post"]), None, anew("client_secret_post")),
            (true, true, Some(&["private_key_jwt"]), None, Err(NoClient::Method)),
            (true, false, None, None, Err(NoClient::Unknown)),
        ] {
            let options = ClientOptions { document, ..options() };
            assert_eq!(choose(&issuer(takes, registers, methods), options), expected);
        }
    }

    #[test]
    fn an_earlier_registration_is_used_again_by_the_same_issuer_for_the_same_address() {
        for (at, redirect_uri, end, again) in [
            ("https://a", HERE, None, true),
            ("https://a", HERE, Some(1001), true),
            ("https://a", HERE, Some(1000), false),
            ("https://a", "http://127.0.0.1:8/callback", None, false),
            ("https://b", HERE, None, false),
        ] {
            let client = dynamic("old", redirect_uri, end);
            let options = ClientOptions { earlier: Some((at, &client)), ..options() };
            let way = choose(&issuer(false, true, None), options).unwrap();
            assert_eq!(way == ClientSource::Ready(client), again, "{at} {redirect_uri} {end:?}");
        }
    }

    #[test]
    fn an_application_says_what_kind_of_program_this_is() {
        for (redirect_uri, kind) in [(HERE, "native"), ("https://gate.example/callback", "web")] {
            let body = application("Trunkline", redirect_uri, "none", Some("a b"));
            let document: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(document["application_type"], kind);
            assert_eq!(document["redirect_uris"], json!([redirect_uri]));
            assert_eq!(document["token_endpoint_auth_method"], "none");
            assert_eq!(document["grant_types"], json!(["authorization_code", "refresh_token"]));
            assert_eq!(document["scope"], "a b");
        }
    }

    #[test]
    fn what_a_registration_answers() {
        let client =
            |auth, expires_at| Some(OAuthClient { auth, ..dynamic("c", HERE, expires_at) });
        let secret = || Secret::new("s");
        for (body, asked, expected) in [
            (r#"{"client_id":"c"}"#, "none", client(Auth::None, None)),
            (r#"{"client_id":"c","client_secret":"s"}"#, "none", client(Auth::None, None)),
            (
                r#"{"client_id":"c","client_secret":"s","client_secret_expires_at":0}"#,
                "client_secret_basic",
                client(Auth::Basic(secret()), None),
            ),
            (
                r#"{"client_id":"c","client_secret":"s","client_secret_expires_at":5,"token_endpoint_auth_method":"client_secret_post"}"#,
                "none",
                client(Auth::Post(secret()), Some(5000)),
            ),
            (r#"{"client_id":"c"}"#, "client_secret_basic", None),
            (r#"{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}"#, "none", None),
            (r#"{"client_id":""}"#, "none", None),
            (r#"{"client_id":7}"#, "none", None),
            ("<html>", "none", None),
        ] {
            assert_eq!(registered(body.as_bytes(), HERE, asked), expected, "{body}");
        }
    }
}
