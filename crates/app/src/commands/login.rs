//! `trunkline login` and `trunkline logout`: for a server of a config file with a browser on this
//! machine, or at a platform elsewhere.

use serde_json::{Value, json};
use trunkline_catalog::config::{ServerSpec, Transport};
use trunkline_control::api::time;
use trunkline_control::logins::Logins;
use trunkline_control::oauth::{self, Loopback};

use crate::cli::{Login, LoginTarget, Logout, Servers};
use crate::client::did_you_mean;
use crate::commands::runtime::{block_on, broke, refuse, start_logging};
use crate::environment::Environment;
use crate::logging::LogFlags;
use crate::rest::{Rest, escaped};
use crate::settings::{self, SettingsError, StartOptions, TOKEN};
use crate::{FAILED, OK, USAGE, browser, console, logins};

pub(crate) fn login(login: &Login, environment: &Environment) -> u8 {
    at(&login.at, environment, async |place| match place {
        LoginStore::Platform(platform) => {
            let begun = platform.ask("POST").await?;
            // What happens when the browser has come back, the platform knows.
            LoginPrompt { login, environment }.show(&begun).map(|()| LoginOutput::default())
        }
        LoginStore::Here(logins, url) => {
            with_browser(&LoginPrompt { login, environment }, &logins, &url).await
        }
    })
}

pub(crate) fn logout(logout: &Logout, environment: &Environment) -> u8 {
    let server = &logout.at.server;
    at(&logout.at, environment, async |place| {
        let told = match place {
            // Whether there was something, and who was told, is in its audit log.
            LoginStore::Platform(platform) => platform.ask("DELETE").await.map(|_| None)?,
            LoginStore::Here(logins, url) => {
                let kept = logins.oauth().kept(&url).await.map_err(|error| error.to_string())?;
                if kept.is_none() {
                    let words = format!("nobody was logged in at {server}\n");
                    return Ok(LoginOutput {
                        words,
                        json: json!({ "server": server, "logged_out": false }),
                    });
                }
                Some(logins.forget(&url).await.map_err(|error| error.to_string())?)
            }
        };
        let untold = " (the authorization server was not told)";
        let words = if told == Some(false) { untold } else { "" };
        Ok(LoginOutput {
            words: format!("logged out from {server}{words}\n"),
            json: json!({ "server": server, "logged_out": true, "issuer_told": told }),
        })
    })
}

/// What came of it, for people and for programs; null: nothing is to be said.
#[derive(Default)]
struct LoginOutput {
    words: String,
    json: Value,
}

/// Who keeps the login.
enum LoginStore {
    Platform(RemotePlatform),
    /// The logins of this user, and the server's address.
    Here(Logins, String),
}

fn at(
    at: &LoginTarget,
    environment: &Environment,
    act: impl AsyncFnOnce(LoginStore) -> Result<LoginOutput, String>,
) -> u8 {
    if let Err(code) = start_logging(&LogFlags::default(), environment) {
        return code;
    }
    let place = match place(at, environment) {
        Ok(Ok(place)) => place,
        Ok(Err(what)) => return console::problem(&format!("error: {what}\n"), USAGE),
        Err(error) => return refuse(&error, environment),
    };
    match block_on(act(place)) {
        Ok(Ok(said)) if at.json && said.json.is_null() => OK,
        Ok(Ok(said)) if at.json => console::out(&format!("{}\n", said.json)),
        Ok(Ok(said)) => console::out(&said.words),
        Ok(Err(why)) => console::problem(&format!("error: {why}\n"), FAILED),
        Err(error) => broke(&error),
    }
}

fn place(
    at: &LoginTarget,
    environment: &Environment,
) -> Result<Result<LoginStore, String>, SettingsError> {
    if let Some(base) = &at.url {
        let token = at.token.as_ref().map(|token| token.reveal().to_owned());
        let token = token.or_else(|| environment.filled(TOKEN));
        let (rest, server) = (Rest::new(base.clone(), token), at.server.clone());
        return Ok(Ok(LoginStore::Platform(RemotePlatform { rest, server })));
    }
    let servers = Servers { config: at.config.clone(), ..Servers::default() };
    let wanted = StartOptions::once(&servers);
    let path = settings::config_path(at.config.as_deref(), environment)?;
    let config = settings::load(&path, &wanted, environment)?;
    Ok(here(&at.server, &config.servers, environment))
}

fn here(
    name: &str,
    servers: &[ServerSpec],
    environment: &Environment,
) -> Result<LoginStore, String> {
    let spec = servers.iter().find(|spec| spec.key == name);
    let spec = spec.ok_or_else(|| {
        let near = did_you_mean(name, servers.iter().map(|spec| spec.key.as_str()));
        format!("the config has no server `{name}`{near}")
    })?;
    match (&spec.login, &spec.transport) {
        (Some(url), _) => {
            let logins = logins::of(servers, environment);
            let logins = logins.ok_or("there is no place to keep it: HOME is not set")?;
            Ok(LoginStore::Here(logins, url.clone()))
        }
        (None, Transport::Stdio { .. }) => Err(format!("`{name}` is a command, not a `url`")),
        (None, Transport::Remote { .. }) => {
            Err(format!("`{name}` has an `Authorization` header of its own in the config"))
        }
    }
}

async fn with_browser(
    door: &LoginPrompt<'_>,
    logins: &Logins,
    url: &str,
) -> Result<LoginOutput, String> {
    let loopback = Loopback::bind().await.map_err(|error| error.to_string())?;
    let redirect_uri = loopback.redirect_uri();
    let (client, scope, challenge) = (None, None, None);
    let redirect_uri = &redirect_uri;
    let login = oauth::Login { server: url, url, challenge, redirect_uri, client, scope };
    let begun = logins.begin(login, None).await;
    let begun = begun.map_err(|error| error.to_string())?;
    door.show(&json!({
        "authorization_url": begun.authorization_url,
        "issuer": begun.issuer,
        "previous_issuer": begun.previous_issuer,
        "scope": begun.scope,
    }))?;
    let callback = loopback.receive(&begun.state, Loopback::PATIENCE).await;
    let callback = callback.map_err(|error| error.to_string())?;
    let granted = logins.finish(&callback).await.map_err(|error| error.to_string())?;
    let server = &door.login.at.server;
    Ok(LoginOutput {
        words: format!("logged in at {server}; granted by {}\n", granted.issuer),
        json: json!({
            "server": server,
            "logged_in": true,
            "issuer": granted.issuer,
            "scope": granted.scope,
            "expires_at": granted.expires_at.map(time::format),
        }),
    })
}

/// Sends the user to the authorization page.
struct LoginPrompt<'d> {
    login: &'d Login,
    environment: &'d Environment,
}

impl LoginPrompt<'_> {
    /// Says where to go. A browser is started only with `--open`: the user may sit at another machine.
    fn show(&self, begun: &Value) -> Result<(), String> {
        let text = |name: &str| begun.get(name).and_then(Value::as_str);
        let url = text("authorization_url").unwrap_or_default();
        // What goes to a browser, or is clicked on, must be for one.
        if !["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err("the platform names no address for a browser".to_owned());
        }
        warn_of(text("previous_issuer"), text("issuer").unwrap_or_default());
        if self.login.at.json {
            let mut told = begun.as_object().cloned().unwrap_or_default();
            told.insert("server".to_owned(), self.login.at.server.as_str().into());
            let told = Value::Object(told);
            console::out(&format!("{told}\n"));
        }
        let opened = self.login.open.then(|| browser::open(url, self.environment));
        if let Some(Err(why)) = &opened {
            console::problem(&format!("warning: no browser was opened: {why}\n"), OK);
        }
        let words = match opened {
            Some(Ok(())) => {
                "A browser was opened. If nothing is to be seen there, open this address"
            }
            _ => "Open this address in a browser",
        };
        if !self.login.at.json {
            console::problem(&format!("{words}:\n\n    {url}\n\n"), OK);
        }
        Ok(())
    }
}

/// Another authorization server than before may belong to an attacker.
fn warn_of(before: Option<&str>, now: &str) {
    if let Some(before) = before {
        let words = format!("warning: {before} granted access before; now it is {now}\n");
        console::problem(&words, OK);
    }
}

/// A `serve` with a platform.
struct RemotePlatform {
    rest: Rest,
    server: String,
}

impl RemotePlatform {
    async fn ask(&self, method: &'static str) -> Result<Value, String> {
        let path = format!("/api/v1/aggregator/servers/{}/login", escaped(&self.server));
        self.rest.ask(method, &path, None).await.map_err(|unanswered| unanswered.to_string())
    }
}
