//! `trunkline login` and `trunkline logout`: for a server of a config file with a browser on this
//! machine, or at a platform elsewhere.

use serde_json::Value;
use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_control::logins::Logins;
use trunkline_control::oauth::{self, Loopback};

use crate::cli::{At, Login, Logout, Servers};
use crate::client::did_you_mean;
use crate::commands::runtime::{block_on, broke, refuse, start_logging};
use crate::environment::Environment;
use crate::rest::{Rest, escaped};
use crate::settings::{self, SettingsError, TOKEN, Wanted};
use crate::{FAILED, OK, USAGE, logins, speak};

pub(crate) fn login(login: &Login, environment: &Environment) -> u8 {
    at(&login.at, environment, async |place| match place {
        Place::Platform(platform) => {
            let begun = platform.ask("POST").await?;
            let text = |name: &str| begun.get(name).and_then(Value::as_str);
            warn_of(text("previous_issuer"), text("issuer").unwrap_or_default());
            show(text("authorization_url").unwrap_or_default());
            Ok(String::new())
        }
        Place::Here(logins, url) => with_browser(&login.at.server, &logins, &url).await,
    })
}

pub(crate) fn logout(logout: &Logout, environment: &Environment) -> u8 {
    at(&logout.at, environment, async |place| {
        let told = match place {
            Place::Platform(platform) => platform.ask("DELETE").await.map(|_| true)?,
            Place::Here(logins, url) => {
                let kept = logins.oauth().kept(&url).await.map_err(|error| error.to_string())?;
                if kept.is_none() {
                    return Ok(format!("nobody was logged in at {}\n", logout.at.server));
                }
                logins.forget(&url).await.map_err(|error| error.to_string())?
            }
        };
        let told = if told { "" } else { " (the authorization server was not told)" };
        Ok(format!("logged out from {}{told}\n", logout.at.server))
    })
}

/// Who keeps the login.
enum Place {
    Platform(Platform),
    /// The logins of this user, and the server's address.
    Here(Logins, String),
}

fn at(
    at: &At,
    environment: &Environment,
    act: impl AsyncFnOnce(Place) -> Result<String, String>,
) -> u8 {
    if let Err(code) = start_logging(false, environment) {
        return code;
    }
    let place = match place(at, environment) {
        Ok(Ok(place)) => place,
        Ok(Err(what)) => return speak::problem(&format!("error: {what}\n"), USAGE),
        Err(error) => return refuse(&error, environment),
    };
    match block_on(act(place)) {
        Ok(Ok(words)) => speak::out(&words),
        Ok(Err(why)) => speak::problem(&format!("error: {why}\n"), FAILED),
        Err(error) => broke(&error),
    }
}

fn place(at: &At, environment: &Environment) -> Result<Result<Place, String>, SettingsError> {
    if let Some(base) = &at.url {
        let token = at.token.as_ref().map(|token| token.reveal().to_owned());
        let token = token.or_else(|| environment.filled(TOKEN));
        let (rest, server) = (Rest::new(base.clone(), token), at.server.clone());
        return Ok(Ok(Place::Platform(Platform { rest, server })));
    }
    let servers = Servers { config: at.config.clone(), ..Servers::default() };
    let wanted = Wanted::once(&servers);
    let path = settings::config_path(at.config.as_deref(), environment)?;
    let config = settings::load(&path, &wanted, environment)?;
    Ok(here(&at.server, &config.servers, environment))
}

fn here(name: &str, servers: &[ServerSpec], environment: &Environment) -> Result<Place, String> {
    let spec = servers.iter().find(|spec| spec.key == name);
    let spec = spec.ok_or_else(|| {
        let near = did_you_mean(name, servers.iter().map(|spec| spec.key.as_str()));
        format!("the config has no server `{name}`{near}")
    })?;
    match (&spec.login, &spec.transport) {
        (Some(url), _) => {
            let logins = logins::of(servers, environment);
            let logins = logins.ok_or("there is no place to keep it: HOME is not set")?;
            Ok(Place::Here(logins, url.clone()))
        }
        (None, Transport::Stdio { .. }) => Err(format!("`{name}` is a command, not a `url`")),
        (None, Transport::Remote { .. }) => {
            Err(format!("`{name}` has an `Authorization` header of its own in the config"))
        }
    }
}

async fn with_browser(name: &str, logins: &Logins, url: &str) -> Result<String, String> {
    let loopback = Loopback::bind().await.map_err(|error| error.to_string())?;
    let redirect_uri = loopback.redirect_uri();
    let (client, scope, challenge) = (None, None, None);
    let redirect_uri = &redirect_uri;
    let login = oauth::Login { server: url, url, challenge, redirect_uri, client, scope };
    let begun = logins.begin(login, None).await;
    let begun = begun.map_err(|error| error.to_string())?;
    warn_of(begun.previous_issuer.as_deref(), &begun.issuer);
    show(&begun.authorization_url);
    let callback = loopback.receive(&begun.state, Loopback::PATIENCE).await;
    let callback = callback.map_err(|error| error.to_string())?;
    let granted = logins.finish(&callback).await.map_err(|error| error.to_string())?;
    Ok(format!("logged in at {name}; granted by {}\n", granted.issuer))
}

/// Another authorization server than before may be somebody else's.
fn warn_of(before: Option<&str>, now: &str) {
    if let Some(before) = before {
        let words = format!("warning: {before} granted access before; now it is {now}\n");
        speak::problem(&words, OK);
    }
}

/// Nothing is started: whoever reads it opens it where they like.
fn show(url: &str) {
    speak::problem(&format!("Open this address in a browser:\n\n    {url}\n\n"), OK);
}

/// A `serve` with a platform.
struct Platform {
    rest: Rest,
    server: String,
}

impl Platform {
    async fn ask(&self, method: &'static str) -> Result<Value, String> {
        let path = format!("/api/v1/aggregator/servers/{}/login", escaped(&self.server));
        self.rest.ask(method, &path, None).await.map_err(|unanswered| unanswered.to_string())
    }
}
