//! The order of the gateway's locks, as a table. A thread that holds one may take those below it.
//!
//! Most are leaves: nothing else is locked while they are held. They stand as far down as what is
//! dropped or called under them allows. A new lock gets a row, and a reason.

/// A place in the table.
pub(crate) trait Rank {
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "release builds do not look"))]
    const PLACE: u8;
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "release builds do not look"))]
    const NAME: &'static str;
}

macro_rules! ranks {
    ($($(#[$reason:meta])* $name:ident)*) => {
        #[derive(Clone, Copy)]
        enum RankOrder { $($name),* }
        $(
            $(#[$reason])*
            #[derive(Debug)]
            pub(crate) struct $name;

            impl Rank for $name {
                const PLACE: u8 = RankOrder::$name as u8;
                const NAME: &'static str = stringify!($name);
            }
        )*
    };
}

ranks! {
    // Who is there: held while sessions, views and servers are looked at or made.
    /// One change of the fleet at a time: everything about servers happens under it.
    FleetChange
    /// A context is made under it, with its view, from that of the session of its kind of client.
    GrantedContexts
    /// Sessions of stateless clients are made under it, with their views.
    StatelessSessions
    /// Idle callers are found under it: their open calls are looked at.
    StatelessCallers
    /// Idle sessions are found under it: their open calls and streams are looked at.
    HttpSessions
    /// Both tables of sessions are looked at together.
    SseSessions
    /// A leaf.
    HttpConns
    /// A session's own processes are found or started under it.
    SessionPrivates
    /// Its processes for single calls likewise, after those of the session.
    SessionPool
    /// Processes are counted under it, and one is ended to make room.
    RegistryPrivates
    /// Servers that leave are looked at under it.
    RegistryLeaving
    /// A view is made under it.
    Views
    /// What a session was told is compared with its view under it.
    SessionAnnounced
    /// What a session was given, likewise.
    SessionListed
    /// What a listener was told, likewise.
    ListenerAnnounced
    /// What a listener follows is given up under it.
    ListenerFollowed
    /// A view is assembled under it from the registry and every server in it.
    ViewCurrent
    /// The servers that are wanted are looked at under it.
    RegistryWanted
    /// The index reads servers' lists and descriptions under it.
    FinderIndex
    /// A leaf.
    ServerDescriptions

    // One server: leaves, above calls because connections may be dropped under them.
    /// A leaf.
    ServerFilter
    /// A leaf.
    ServerMeters
    /// A leaf.
    ServerWarnings
    /// A leaf.
    ServerLive
    /// A leaf.
    ServerBefore
    /// A leaf.
    ServerBreaker
    /// A leaf.
    ServerStderr
    /// A leaf.
    ServerKept
    /// A leaf.
    ServerListedFor
    /// A leaf.
    ServerVerdict
    /// A leaf.
    RememberedListing
    /// A leaf.
    UnkeptPins
    /// A leaf.
    KnownEra
    /// A leaf.
    SpokenDialect

    // Calls on their way to a server.
    /// A request is sent under it: its acknowledgement may come at once.
    ListenTurn
    /// A leaf.
    TakenListens
    /// A request is sent under it.
    ListenRequest
    /// Calls are handed to a server under it, one after the other.
    Turnstile
    /// A call is opened in its client under it.
    WaitingCalls
    /// A leaf.
    WaitQueueConnection
    /// A leaf, above calls because a call is kept behind it.
    InputRound
    /// A parked call is taken out of the open calls under it, and answered.
    ParkedCall
    /// Requests are sent and progress is passed on under it: which came first is known exactly.
    OpenCalls
    /// A call is parked while it is open.
    ParkingHandles

    // The client of a call.
    /// The clients of a server are looked for while its calls are looked at.
    Audience
    /// A leaf.
    ClientQuestions
    /// A call is opened and taken out while its server or its queue is locked.
    ClientCalls
    /// A leaf.
    ClientAbilities
    /// A leaf.
    ClientStream
    /// A leaf.
    ClientLevel
    /// A leaf.
    ClientIntroduction
    /// A leaf.
    TaskOwners
    /// A leaf.
    Subscriptions

    // Where answers leave: a message is put into an outbox under each of these.
    /// The answers of a batch leave together, through another sink.
    BatchAnswers
    /// A reply becomes a stream of its session under it.
    PostReply
    /// A reply is written under it.
    WebReply
    /// A reply is written under it.
    SseReply
    /// A stream is opened under it.
    SessionStreams
    /// Events are written under it, and the connection is given free.
    ResumableStream
    /// A leaf: the connection's reader waits for it.
    ConnReply
    /// A leaf.
    FleetAnswer
    /// A leaf.
    FleetHanded
    /// A leaf.
    LocalNews
    /// A leaf.
    LocalAnswer
    /// A leaf.
    PassCache
    /// A leaf.
    SessionOwner
    /// A leaf.
    WrongTokens

    // The way to a server over HTTP: requests are sent while its calls are locked.
    /// A leaf.
    MismatchedHeaders
    /// Connections are chosen, and requests are put into their outboxes, under it.
    HttpPool
    /// What a request needs in its header is read while one is sent.
    AnnotatedTools
    /// The outbox of a connection is written under it.
    HttpSlot

    // What everything above may come to.
    /// A leaf.
    RepeatableTools
    /// Lines are logged under it, with the server's name.
    BrokenLines
    /// A leaf.
    StderrLines
    /// A leaf.
    ServerName
    /// A stream is written under it, and the thread is told to go on with it.
    OutboxQueue
    /// Bytes are encrypted while an outbox is written.
    TlsStream
    /// A leaf: refusals come from everywhere.
    RefusedCounts
    /// A leaf: orders are given from everywhere.
    PumpOrders
    /// A leaf: connections are dropped from everywhere.
    AddressCounts
    /// A leaf: sessions begin under many locks.
    LimiterAccounts
    /// A leaf.
    CallerPlace
}
