//! The data plane: one message on its way from a client to a server and back.
//!
//! `front` → `session` → `router` (where to) → `upstream` (go); the answer returns through
//! the call's `ReplyTo`. No room calls back up by name.

mod absence;
mod call;
mod call_keys;
mod certificate;
mod deadlines;
mod embedder;
mod era;
mod error;
mod events;
mod finder;
mod fleet;
mod front;
mod gate;
mod gateway;
mod gateway_info;
mod identity;
mod instance;
mod known_listings;
mod limiter;
mod limits;
mod local;
mod lock;
mod login;
mod network;
mod own_files;
mod pins;
mod policy;
mod pump;
mod registry;
mod replicas;
mod result_scan;
mod router;
mod scanner;
mod session;
mod stream;
mod timers;
mod traces;
mod upstream;

pub use call_keys::{
    CallKeys, ClaimFuture, ClaimedCall, KEPT_ANSWER, KEYS_KEPT, KeptAnswer, KeyClaim, KeyFault,
    KeyOutcome, KeyState, KeyTicket, KeyedCall, QUEUED_ANSWERS, ROUNDS_KEPT, TakenKey, claim_key,
    idempotency_key,
};
pub use certificate::ClientCertificate;
pub use embedder::{Asked as AskedEmbedder, Embedder};
pub use era::{ReplicaId, Seal, SealKeys};
pub use error::{over_limit, runtime_gone};
pub use events::{
    CallEnded, CallManner, Event, EventSink, Outcome, RefusedKind, RequestEnded, ResultFound,
};
pub use finder::{FoundTool, SearchQuery, SearchResult};
pub use fleet::{
    Applied, CallFailure, CountedRequest, CustomInfo, FailureKind, Fleet, HealthVerdict, Offer,
    OfferMark, PastFailure, PrivateProcess, Restarted, Retired, ServedList, ServerInfo, ToolAnswer,
    ToolCall, ToolInfo,
};
pub use front::http::{
    Attachment, BodyRule, ClientTransport, ConnectedClient, ConnectedClients, FrontNetwork,
    FrontTls, HttpOptions, PeerNetwork, RedirectOptions, TlsFault, TlsFiles, TooManyConnections,
    WebConnection, WebHeaders, WebReply, WebRequest, WebStream, WrongTokens, retry_after,
};
pub use front::signals::{OnHangup, Signals};
pub use front::socket::{SocketClient, SocketOrder};
pub use gate::{ANYONE, Admission, Asking, Decision, Denied, Gate, Grant, Pass};
pub use gateway::{Gateway, Options, ShownTools};
pub use gateway_info::GatewayInfo;
pub use known_listings::{CachedListing, CachedRecord, KnownListings, ListingFiles, ListingHome};
pub use limiter::{Allowance, CallerAddress, LimitedCalls};
pub use limits::{
    BATCH_MEMBERS, FIRST_WORD, GREETING, LATEST_GREETING, Limits, RUNTIME_END, RUNTIME_SIGNALLED,
    shorten_waits, shortened,
};
pub use local::{LocalClient, LocalError, News};
pub use login::{Authorization, Bearer, Later, Logins, NoAuthorization, Refusal};
pub use network::Network;
pub use pins::{
    KeptPins, LoadedPins, PinChange, PinFiles, PinHome, PinHomeError, PinRevision, PinnedEntry,
    ReviewError,
};
pub use policy::{
    PolicyGrant, PolicyRefusal, PolicyTarget, PolicyVerdict, PreparedCall, RequestFacts,
};
pub use pump::{MOST_THREADS, usual_threads};
pub use replicas::{
    ReplicaAccess, ReplicaAnswer, ReplicaBody, ReplicaFault, Replicas, SealedRequest, Waiting,
    WaitingFor,
};
pub use result_scan::ResultScans;
pub use scanner::ServerFindings;
pub use stream::{own_stdin, own_stdout};
pub use traces::{Followed, SpanKind, Target, TraceContext, Traces};
pub use upstream::{
    Declared, Failure, Hints, Inherited, Phase, Restart, Retry, RunPolicy, SandboxPolicy,
    SandboxReport, State, Status, TOLD, ToolAnnotations, client_tls, is_broad, package_root,
};
