//! The table of screens: where each is, and who may see it. A screen without a decision does not compile.

use trunkline_control::access::Action;
use trunkline_http::decode;

/// A row. `{}` in a path stands for one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) screen: Screen,
}

/// What changes something is a POST: forms know nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Before anybody has signed in.
    Open,
    /// Whoever has signed in may look; the API decides about what is on it.
    Needs(Action),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Screen {
    Asset,
    SignIn,
    SignInNow,
    BeginSingleSignOn,
    CameBackFromIssuer,
    SignOut,
    Theme,
    Live,
    Overview,
    Servers,
    NewServer,
    AddServer,
    Server,
    EditServer,
    ChangeServer,
    ConnectServer,
    DisconnectServer,
    LoginServer,
    LogoutServer,
    ConfirmRemoval,
    RemoveServer,
    Tools,
    Tool,
    TryTool,
    ChangeToolSkills,
    Skills,
    AddSkill,
    EditSkill,
    ChangeSkill,
    ConfirmSkillRemoval,
    RemoveSkill,
    ApproveSkill,
    RejectSkill,
    Review,
    ApproveDefinition,
    RejectDefinition,
    Policies,
    NewPolicy,
    AddPolicy,
    TestPolicies,
    AskPolicies,
    Policy,
    ChangePolicy,
    ConfirmPolicyRemoval,
    RemovePolicy,
    Activity,
    Story,
    Clients,
    CreateKey,
    ConfirmRevocation,
    KeyLimits,
    ChangeKeyLimits,
    RevokeKey,
    Settings,
    Export,
    ApiPage,
}

const fn get(path: &'static str, action: Action, screen: Screen) -> Route {
    Route { method: Method::Get, path, access: Access::Needs(action), screen }
}

const fn post(path: &'static str, action: Action, screen: Screen) -> Route {
    Route { method: Method::Post, path, access: Access::Needs(action), screen }
}

const fn open(method: Method, path: &'static str, screen: Screen) -> Route {
    Route { method, path, access: Access::Open, screen }
}

pub(crate) const ROUTES: &[Route] = &[
    open(Method::Get, "/ui/assets/{}", Screen::Asset),
    open(Method::Get, "/sign-in", Screen::SignIn),
    open(Method::Post, "/sign-in", Screen::SignInNow),
    open(Method::Get, "/sign-in/oidc", Screen::BeginSingleSignOn),
    open(Method::Get, "/sign-in/callback", Screen::CameBackFromIssuer),
    post("/sign-out", Action::ReadSelf, Screen::SignOut),
    post("/ui/theme", Action::ReadSelf, Screen::Theme),
    get("/ui/live", Action::ReadEvents, Screen::Live),
    get("/", Action::ReadMetrics, Screen::Overview),
    get("/servers", Action::ReadServers, Screen::Servers),
    get("/servers/new", Action::RegisterServer, Screen::NewServer),
    post("/servers/new", Action::RegisterServer, Screen::AddServer),
    get("/servers/{}", Action::ReadServers, Screen::Server),
    get("/servers/{}/edit", Action::EditServer, Screen::EditServer),
    post("/servers/{}/edit", Action::EditServer, Screen::ChangeServer),
    post("/servers/{}/connect", Action::Connect, Screen::ConnectServer),
    post("/servers/{}/disconnect", Action::Disconnect, Screen::DisconnectServer),
    post("/servers/{}/login", Action::Login, Screen::LoginServer),
    post("/servers/{}/logout", Action::Logout, Screen::LogoutServer),
    get("/servers/{}/remove", Action::DeleteServer, Screen::ConfirmRemoval),
    post("/servers/{}/remove", Action::DeleteServer, Screen::RemoveServer),
    get("/tools", Action::ReadTools, Screen::Tools),
    get("/tools/{}", Action::ReadTools, Screen::Tool),
    post("/tools/{}", Action::CallTool, Screen::TryTool),
    post("/tools/{}/skills", Action::EditSkills, Screen::ChangeToolSkills),
    get("/skills", Action::ReadSkills, Screen::Skills),
    post("/skills", Action::EditSkills, Screen::AddSkill),
    get("/skills/{}/edit", Action::EditSkills, Screen::EditSkill),
    post("/skills/{}/edit", Action::EditSkills, Screen::ChangeSkill),
    get("/skills/{}/remove", Action::EditSkills, Screen::ConfirmSkillRemoval),
    post("/skills/{}/remove", Action::EditSkills, Screen::RemoveSkill),
    post("/skills/suggestions/{}/approve", Action::EditSkills, Screen::ApproveSkill),
    post("/skills/suggestions/{}/reject", Action::EditSkills, Screen::RejectSkill),
    get("/review", Action::ReviewDefinitions, Screen::Review),
    post("/review/{}/approve", Action::ReviewDefinitions, Screen::ApproveDefinition),
    post("/review/{}/reject", Action::ReviewDefinitions, Screen::RejectDefinition),
    get("/policies", Action::ReadPolicies, Screen::Policies),
    get("/policies/new", Action::ManagePolicies, Screen::NewPolicy),
    post("/policies/new", Action::ManagePolicies, Screen::AddPolicy),
    get("/policies/test", Action::ReadPolicies, Screen::TestPolicies),
    post("/policies/test", Action::ReadPolicies, Screen::AskPolicies),
    get("/policies/{}/text", Action::ReadPolicies, Screen::Policy),
    post("/policies/{}/text", Action::ManagePolicies, Screen::ChangePolicy),
    get("/policies/{}/remove", Action::ManagePolicies, Screen::ConfirmPolicyRemoval),
    post("/policies/{}/remove", Action::ManagePolicies, Screen::RemovePolicy),
    get("/activity", Action::ReadAudit, Screen::Activity),
    get("/activity/{}", Action::ReadAudit, Screen::Story),
    get("/clients", Action::ReadSelf, Screen::Clients),
    post("/clients/keys", Action::ManageKeys, Screen::CreateKey),
    get("/clients/keys/{}/limits", Action::ManageKeys, Screen::KeyLimits),
    post("/clients/keys/{}/limits", Action::ManageKeys, Screen::ChangeKeyLimits),
    get("/clients/keys/{}/revoke", Action::ManageKeys, Screen::ConfirmRevocation),
    post("/clients/keys/{}/revoke", Action::ManageKeys, Screen::RevokeKey),
    get("/settings", Action::ReadSelf, Screen::Settings),
    get("/settings/export", Action::ReadServers, Screen::Export),
    get("/api/v1/docs", Action::ReadOpenApi, Screen::ApiPage),
    get("/api/v1/docs.css", Action::ReadOpenApi, Screen::ApiPage),
    get("/api/v1/openapi.json", Action::ReadOpenApi, Screen::ApiPage),
];

/// Pages of the API that a browser is shown by its session. Everything else there takes a token.
pub(crate) const API_PAGES: [&str; 3] =
    ["/api/v1/docs", "/api/v1/docs.css", "/api/v1/openapi.json"];

/// Is this path the dashboard's? Decided by its first segment, so that what is below a screen and is
/// not there gets a page that says so.
pub(crate) fn owns(path: &str) -> bool {
    let first = first(path);
    let is_like = |route: &Route| self::first(route.path) == first;
    // Of the API only its pages.
    if first == "api" { API_PAGES.contains(&path) } else { ROUTES.iter().any(is_like) }
}

fn first(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteMatch {
    Route(Route, Vec<String>),
    /// The methods it has.
    WrongMethod(&'static str),
    Nothing,
}

/// Which screen is meant. `HEAD` is a `GET`.
pub(crate) fn find(method: &str, path: &str) -> RouteMatch {
    let mut fitting: Vec<(Route, Vec<String>)> =
        ROUTES.iter().filter_map(|route| Some((*route, fit(route.path, path)?))).collect();
    // What is spelt out is meant: `/servers/new` is not the server of that id.
    let fewest = fitting.iter().map(|(_, params)| params.len()).min();
    fitting.retain(|(_, params)| Some(params.len()) == fewest);
    let wanted = match method {
        "GET" | "HEAD" => Some(Method::Get),
        "POST" => Some(Method::Post),
        _ => None,
    };
    let has = |wanted: Method| fitting.iter().any(|(route, _)| route.method == wanted);
    let allowed = match (has(Method::Get), has(Method::Post)) {
        (true, true) => "GET, HEAD, POST",
        (true, false) => "GET, HEAD",
        (false, true) => "POST",
        (false, false) => return RouteMatch::Nothing,
    };
    let found = fitting.into_iter().find(|(route, _)| Some(route.method) == wanted);
    found.map_or(RouteMatch::WrongMethod(allowed), |(route, params)| {
        RouteMatch::Route(route, params)
    })
}

/// What stands where the template has `{}`, decoded; a path is cut before it is decoded.
fn fit(template: &str, path: &str) -> Option<Vec<String>> {
    let mut params = Vec::new();
    let mut segments = path.split('/');
    for part in template.split('/') {
        let segment = segments.next()?;
        match part {
            "{}" => params.push(value(segment)?),
            part if part == segment => {}
            _ => return None,
        }
    }
    segments.next().is_none().then_some(params)
}

fn value(segment: &str) -> Option<String> {
    let is_step = matches!(segment, "" | "." | "..");
    let value = decode(segment).ok().filter(|_| !is_step)?;
    (!value.contains(char::is_control)).then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(method: &str, path: &str) -> Result<(Screen, Vec<String>), &'static str> {
        match find(method, path) {
            RouteMatch::Route(route, params) => Ok((route.screen, params)),
            RouteMatch::WrongMethod(allowed) => Err(allowed),
            RouteMatch::Nothing => Err(""),
        }
    }

    #[test]
    fn paths_and_methods_find_their_screens() {
        let one = |value: &str| vec![value.to_owned()];
        for (method, path, expected) in [
            ("GET", "/", Ok((Screen::Overview, vec![]))),
            ("HEAD", "/servers", Ok((Screen::Servers, vec![]))),
            ("GET", "/servers/new", Ok((Screen::NewServer, vec![]))),
            ("GET", "/servers/a%2Fb", Ok((Screen::Server, one("a/b")))),
            ("POST", "/servers/x/connect", Ok((Screen::ConnectServer, one("x")))),
            ("GET", "/servers/x/connect", Err("POST")),
            ("DELETE", "/servers/x", Err("GET, HEAD")),
            ("PUT", "/sign-in", Err("GET, HEAD, POST")),
            ("GET", "/servers/", Err("")),
            ("GET", "/servers/..", Err("")),
            ("GET", "/servers/a%0Ab", Err("")),
            ("GET", "/servers/x/y/z", Err("")),
            ("GET", "/nothing", Err("")),
        ] {
            assert_eq!(screen(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn the_gateway_and_the_api_keep_their_paths() {
        for path in ["/mcp", "/sse", "/messages", "/healthz", "/readyz", "/metrics", "/api/v1/me"] {
            assert!(!owns(path), "{path}");
        }
        for path in ["/", "/servers", "/servers/x/y", "/ui/live", "/sign-in", "/api/v1/docs"] {
            assert!(owns(path), "{path}");
        }
    }

    /// What changes something needs more than having signed in, but for what is one's own.
    #[test]
    fn nothing_that_changes_something_is_open() {
        for route in ROUTES.iter().filter(|route| route.method == Method::Post) {
            let own = matches!(route.screen, Screen::SignInNow | Screen::SignOut | Screen::Theme);
            let looks = matches!(route.access, Access::Open | Access::Needs(Action::ReadSelf));
            assert_eq!(own, looks, "{}", route.path);
        }
    }
}
