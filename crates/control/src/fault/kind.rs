//! `ProblemKind`: every kind of problem in one table, with its name, HTTP status, title and usual remedy.

/// `Kind STATUS "name" "title": "what to do, where the problem itself knows nothing better";`
macro_rules! kinds {
    ($($kind:ident $status:literal $name:literal $title:literal: $hint:literal;)*) => {
        /// What went wrong, as far as a caller tells one thing from another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemKind {
            $($kind),*
        }

        impl ProblemKind {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$kind),*];

            pub fn facts(self) -> ProblemFacts {
                let (name, status, title, hint) = match self {
                    $(Self::$kind => ($name, $status, $title, $hint)),*
                };
                ProblemFacts { name, status, title, hint }
            }
        }
    };
}

kinds! {
    Malformed 400 "malformed" "The body is not JSON": "correct it at the place named in `detail`";
    BadHeader 400 "bad-header" "A header cannot be read": "correct the header named in `detail`, or leave it out";
    Unauthenticated 401 "unauthenticated" "No valid token": "send `Authorization: Bearer TOKEN` with the admin token, an API key or an access token";
    Forbidden 403 "forbidden" "The token does not allow this": "use a token with a higher role";
    NotPermitted 403 "not-permitted" "Policies do not permit this": "`detail` names the policy; `trunkline policy test` explains a decision";
    StdioForbidden 403 "stdio-forbidden" "Commands may not be registered over REST": "start Trunkline with `--allow-stdio-registration` and use an admin's token, or put the server into the config file";
    NoSuchPath 404 "no-such-path" "There is nothing at this path": "see /api/v1/docs for what there is";
    NoSuchServer 404 "no-such-server" "There is no such server": "GET /api/v1/aggregator/servers lists them";
    NoSuchTool 404 "no-such-tool" "There is no such tool": "GET /api/v1/tools lists them";
    NoSuchKey 404 "no-such-key" "There is no such key": "GET /api/v1/keys lists them";
    NoSuchSecret 404 "no-such-secret" "There is no such secret": "GET /api/v1/secrets lists them";
    NoSuchSkill 404 "no-such-skill" "There is no such skill": "GET /api/v1/skills lists them";
    NoSuchSuggestion 404 "no-such-suggestion" "There is no such suggestion": "GET /api/v1/skills/suggestions lists them";
    NoSuchPolicy 404 "no-such-policy" "There is no such policy": "GET /api/v1/policies lists them";
    NothingWaits 409 "nothing-waits" "No such definition waits": "GET /api/v1/reviews lists those that do";
    WrongMethod 405 "wrong-method" "The path does not have this method": "the `Allow` header lists those it has";
    NameTaken 409 "name-taken" "Another server has this name": "choose another name, or PATCH the server that has it";
    FromFile 409 "from-file" "The server comes from the config file": "change the config file; it is read again when it changes";
    PolicyOfFile 409 "policy-of-file" "The policy comes from a file": "change the file; it is read again when it changes";
    NoLogin 409 "no-login" "Nobody can log in there": "only servers in the network that are given no `Authorization` header have logins";
    SecretInUse 409 "secret-in-use" "Servers refer to the secret": "change those servers, or remove it with `?force=true`: they cannot be connected then";
    SetByHand 409 "set-by-hand" "Somebody has set the skills of this tool": "DELETE them first: then they are Trunkline's to find out again";
    Decided 409 "decided" "It was decided on before": "GET /api/v1/skills/suggestions shows how";
    ChangedAgain 409 "changed-again" "The definition has changed again since you have seen it": "GET /api/v1/reviews shows it as it is now";
    NotSeenWhole 409 "not-seen-whole" "Only a part of the definition was shown": "GET /api/v1/aggregator/servers/{id}/definitions shows all of it; approve it with the whole hash";
    KeyInUse 409 "idempotency-key-in-use" "The call with this idempotency key still runs": "this one did not run; send it again, under the same key, after `Retry-After`";
    OutcomeUnknown 409 "outcome-unknown" "What became of the call with this idempotency key is not known": "it may have run, and this one did not: check before you make it again under another key";
    AnswerNotKept 409 "answer-not-kept" "The call with this idempotency key has run, and its answer was not kept": "this one did not run: read what the call has done, if you need it";
    Stale 412 "stale" "It has changed since you read it": "GET it again and repeat the change with the new ETag";
    TooLarge 413 "too-large" "The body is too large": "send less";
    WrongMediaType 415 "wrong-media-type" "The body is not declared as JSON": "send `Content-Type: application/json`";
    Invalid 422 "invalid" "The request has mistakes": "correct everything listed in `errors`";
    KeyReused 422 "idempotency-key-reused" "The idempotency key was used for another call": "nothing ran: use another key for a call with other arguments";
    TooMany 429 "too-many" "Too many requests": "wait as long as `Retry-After` says";
    Internal 500 "internal" "Trunkline made a mistake": "look into its log for this time, and report it";
    ServerError 502 "server-error" "The server answered with an error": "`error` is what it said; the call has reached it";
    BadAnswer 502 "bad-answer" "The server's answer cannot be used": "the call has run; look at the server's log";
    LoginFailed 502 "login-failed" "The login could not be begun": "`detail` says what the server or its authorization server did not do; a client can be configured by hand (`oauth`)";
    ServerUnavailable 503 "server-unavailable" "The server is not connected": "connect it: POST /api/v1/aggregator/servers/{id}/connect";
    StoreUnavailable 503 "store-unavailable" "The store cannot be reached": "nothing was changed; try again when it is back";
    Timeout 504 "timeout" "The server did not answer in time": "the call may have run: check before you repeat it";
    StoreFull 507 "store-full" "The store takes no more": "nothing was changed; make room on its disk";
}

/// A kind in words.
#[derive(Debug, Clone, Copy)]
pub struct ProblemFacts {
    /// The last part of its type.
    pub name: &'static str,
    pub status: u16,
    pub title: &'static str,
    /// What to do, where the problem itself knows nothing better.
    pub hint: &'static str,
}

impl ProblemKind {
    /// Part of the API: callers compare it, and audit records hold it.
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}
