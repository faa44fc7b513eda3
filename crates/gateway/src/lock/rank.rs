//! The order of the gateway's locks, as a table. A thread that holds one may take those below it.
//!
//! Most are leaves: nothing else is locked while they are held, and their rows say what they guard.
//! They stand as far down as what is dropped or called under them allows. A new lock gets a row,
//! and a reason.

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
    /// Guards the list of open connections; a copy is swept and closed, never the list.
    HttpConns
    /// Requests of a session that have waited go on under it, and a new one behind them.
    SessionTurn
    /// Guards the requests of a session that wait for servers.
    SessionWaiting
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
    /// The index reads servers' lists and descriptions under it, and asks policies, which look at the servers that are wanted.
    FinderIndex
    /// The servers that are wanted are looked at under it.
    RegistryWanted
    /// Guards what others say about servers; it is replaced as a whole.
    ServerDescriptions

    // One server: leaves, above calls because connections may be dropped under them.
    /// Guards which tools of a server are shown.
    ServerFilter
    /// Guards the limits and meters of a server's tools; most calls find their meter in a snapshot.
    ServerMeters
    /// Guards which warnings about its listings were logged.
    ServerWarnings
    /// What is remembered is chosen under it.
    ServerKinds
    /// Guards the connection that a server has now, and what it lists there.
    ServerLive
    /// Guards the connection before the present one, until its subscriptions are taken over.
    ServerBefore
    /// Guards how often a server has failed in a row.
    ServerBreaker
    /// Guards whose stderr is shown: that of the process that started last.
    ServerStderr
    /// Guards what a server offered when it was last there, while it is expected back.
    ServerKept
    /// Guards what a server offered when it was given up.
    ServerGivenUp
    /// Guards the capabilities for which the kept lists were listed.
    ServerListedFor
    /// Guards how the lists of a client's own process differ from those that it is shown.
    ServerCompared
    /// Guards why a life of a server is to end, and which life.
    ServerVerdict
    /// Guards what stays in memory of the record of a server's last run.
    RememberedListing
    /// Guards the pins that could not be saved.
    UnkeptPins
    /// Guards what is known of the era of a process.
    KnownEra
    /// Guards how a server in the network was last spoken to.
    SpokenDialect

    // Calls on their way to a server.
    /// A request is sent under it: its acknowledgement may come at once.
    ListenTurn
    /// Guards the ids of the `subscriptions/listen` requests that a server has acknowledged last.
    TakenListens
    /// Guards the request that follows the lists of a server, until its task takes it over.
    ListenRequest
    /// Calls are handed to a server under it, one after the other.
    Turnstile
    /// A call is opened in its client under it.
    WaitingCalls
    /// Guards the connection that waiting calls are sent on.
    WaitQueueConnection
    /// Guards the answers of a round; above calls because a call is kept behind it.
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
    /// Guards the questions that a client has not answered; who takes one out answers its server.
    ClientQuestions
    /// A call is opened and taken out while its server or its queue is locked.
    ClientCalls
    /// Guards what a client can be asked for.
    ClientAbilities
    /// Guards where messages to a client leave that belong to no call; nothing is written under it.
    ClientStream
    /// Guards the log level that a client wants.
    ClientLevel
    /// Guards what a client said in `initialize`, and the stamp that is made of it.
    ClientIntroduction
    /// Guards which server has a task, and whose it is.
    TaskOwners
    /// Guards who is subscribed to which resource of a server.
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
    /// Guards where the answer to a call of the control plane goes; who takes it out answers.
    FleetAnswer
    /// Guards when a call of the control plane was handed to its server.
    FleetHanded
    /// Guards what a client inside the process hears outside of its calls, until somebody takes it.
    LocalNews
    /// Guards where the answer goes to a request of a client inside the process.
    LocalAnswer
    /// Guards the caller that the gate admitted last on a connection.
    PassCache
    /// Guards the pass of a session's owner: it is compared and renewed in one step.
    SessionOwner
    /// Guards how many wrong tokens each address has shown.
    WrongTokens

    // The way to a server over HTTP: requests are sent while its calls are locked.
    /// Guards calls that were refused for their headers, until the tools are listed again.
    MismatchedHeaders
    /// Connections are chosen, and requests are put into their outboxes, under it.
    HttpPool
    /// What a request needs in its header is read while one is sent.
    AnnotatedTools
    /// The outbox of a connection is written under it.
    HttpSlot

    // What everything above may come to.
    /// Guards the names of the tools that may be called again.
    RepeatableTools
    /// Lines are logged under it, with the server's name.
    BrokenLines
    /// Guards the lines that a process has written to stderr.
    StderrLines
    /// Guards the name of a server: every message that names one takes it.
    ServerName
    /// A stream is written under it, and the thread is told to go on with it.
    OutboxQueue
    /// Bytes are encrypted while an outbox is written.
    TlsStream
    /// A leaf: the streams of an HTTP/2 connection that have something to do are noted from everywhere.
    ReadyStreams
    /// A leaf: guards what has come on an HTTP/2 connection and was not read yet.
    FrameBytes
    /// A leaf: refusals come from everywhere.
    RefusedCounts
    /// A leaf: orders are given from everywhere.
    PumpOrders
    /// A leaf: connections that were refused are counted, and logged.
    RefusedConnections
    /// A leaf: a handshake that ends gives its place back.
    OpenHandshakes
    /// A leaf: connections are dropped from everywhere.
    AddressCounts
    /// A leaf: sessions begin under many locks.
    LimiterAccounts
    /// Guards the caller that a connection counts for.
    CallerPlace
    /// A leaf: guards the numbers of the requests that other replicas have passed on.
    SeenForwards
    /// A leaf: guards the right to an idempotency key; a call may end under many locks.
    HeldKey
    /// A leaf: guards the idempotency keys of a gateway without a store.
    CallKeys
    /// A leaf: things are sealed under many locks.
    SealKeys
}
