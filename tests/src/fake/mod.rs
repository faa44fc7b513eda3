//! The scripted server: writes each message into its ledger, then does what the script says.

mod act;
mod linger;
mod listen;
mod listing;
mod modern;
mod net;
mod network;
mod outlet;
mod request;
mod template;
mod usual;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, stdin};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex};

use serde_json::Value;

use crate::ledger::Ledger;
use crate::pace::{Pace, Paced};
use crate::scan;
use listing::Lists;
use net::Wire;
use net::session::Sessions;
use outlet::{Outlet, Stdout};
use request::Request;

/// `--script FILE`, with `--listen ADDRESS --http` or `--sse` over the network instead of stdio;
/// `--linger MARKER` for what a script starts, `--terminal` for what runs at one.
pub fn main() {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[1..] {
        ["--script", path] => over_stdio(read(path)),
        ["--script-json", text] => {
            over_stdio(serde_json::from_str(text).expect("the script is JSON"));
        }
        ["--script", path, "--listen", address, "--http"] => {
            over_network(read(path), address, Wire::Streamable);
        }
        ["--script", path, "--listen", address, "--sse"] => {
            over_network(read(path), address, Wire::Legacy);
        }
        ["--linger", _, ..] => linger::main(&args),
        ["--terminal", terminal, program, ref rest @ ..] => {
            crate::terminal::sit(terminal, program, rest);
        }
        _ => panic!("usage: fake-mcp --script FILE [--listen ADDRESS --http|--sse]"),
    }
}

fn read(path: &str) -> Value {
    let text = std::fs::read(path).expect("the script can be read");
    serde_json::from_slice(&text).expect("the script is JSON")
}

/// What all threads of one server share.
struct Server {
    script: Value,
    ledger: Mutex<Ledger>,
    lists: Mutex<Lists>,
    sessions: Arc<Sessions>,
    /// The way out that belongs to no request; over the network every session has its own.
    stdout: Option<Arc<Stdout>>,
    heard: Mutex<Heard>,
    heard_more: Condvar,
    /// Messages that wait to be written together.
    together: Mutex<Vec<(Outlet, Vec<u8>)>>,
    next_question: AtomicU64,
    /// How often a behaviour with [`crate::say::first`] has been met.
    met: Mutex<HashMap<String, u64>>,
    /// Session and raw URI.
    subscribed: Mutex<HashSet<(String, Vec<u8>)>>,
    /// Open subscriptions of the stateless era.
    listeners: Mutex<Vec<listen::Listener>>,
    /// The era a process on a pipe has been opened in, where both are spoken.
    era: Mutex<Option<modern::Era>>,
}

#[derive(Default)]
struct Heard {
    /// Session and raw id of what the client has cancelled.
    cancelled: HashSet<(String, Vec<u8>)>,
    /// Answers to our own questions by raw id.
    answers: HashMap<Vec<u8>, Vec<u8>>,
    /// Every method that has come.
    methods: HashSet<String>,
}

fn over_stdio(script: Value) {
    let server = Server::new(script, Some(Arc::default()));
    let nobody = Request { outlet: server.push(""), ..Request::default() };
    act::perform(&server, &server.script["start"], &nobody);
    meanwhile(&server);
    let pace = Pace::from_script(&server.script["read"]);
    let mut input = BufReader::with_capacity(64 << 10, Paced::new(stdin().lock(), pace));
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(1..) => {}
            _ if server.script["ignore_eof"] == true => loop {
                std::thread::park();
            },
            _ => return,
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        server.ledger.lock().expect("no holder panics").received(&line);
        let outlet = server.push("");
        take(&server, Request { outlet, ..Request::read(line) });
    }
}

fn over_network(script: Value, address: &str, wire: Wire) {
    let server = Server::new(script, None);
    act::perform(&server, &server.script["start"], &Request::default());
    meanwhile(&server);
    net::serve(&server, address, wire);
}

/// What the server does of its own accord, beside its work.
fn meanwhile(server: &Arc<Server>) {
    if server.script.get("meanwhile").is_some() {
        let server = Arc::clone(server);
        std::thread::spawn(move || {
            let nobody = Request { outlet: server.push(""), ..Request::default() };
            act::perform(&server, &server.script["meanwhile"], &nobody);
        });
    }
}

/// Sorts one message: a question to us, an answer to ours, a cancellation.
fn take(server: &Arc<Server>, mut request: Request) {
    if !request.method.is_empty() {
        server.hear(|heard| {
            heard.methods.insert(request.method.clone());
        });
    }
    if server.is_scripted_discovery(&request) {
        request.modern = server.script["era"].is_string();
    } else if !modern::admit(server, &mut request) {
        return;
    }
    match request.method.as_str() {
        "" => server.hear(|heard| {
            heard.answers.insert(request.id.clone(), request.line.clone());
        }),
        "notifications/cancelled" => {
            let id = scan::get(&request.params, "requestId").unwrap_or_default().to_vec();
            listen::close(server, &id);
            server.hear(|heard| {
                heard.cancelled.insert((request.session.clone(), id));
            });
        }
        "resources/subscribe" => server.subscribe(&request, true),
        "resources/unsubscribe" => server.subscribe(&request, false),
        _ => {}
    }
    match server.steps_for(&request) {
        Some(steps) if act::blocks(steps) => {
            let (server, steps) = (Arc::clone(server), steps.clone());
            std::thread::spawn(move || act::perform(&server, &steps, &request));
        }
        Some(steps) => act::perform(server, steps, &request),
        None if !request.id.is_empty() && !request.method.is_empty() => {
            answer(server, &request);
        }
        None => {}
    }
}

/// What a well-behaved server does.
fn answer(server: &Server, request: &Request) {
    match request.method.as_str() {
        "subscriptions/listen" if request.modern => listen::open(server, request),
        _ if request.modern => modern::answer(server, request),
        _ => request.outlet.message([&usual::answer(server, request)[..]]),
    }
}

impl Server {
    fn new(script: Value, stdout: Option<Arc<Stdout>>) -> Arc<Self> {
        Arc::new(Self {
            ledger: Mutex::new(Ledger::open(script["ledger"].as_str())),
            lists: Mutex::new(Lists::of(&script)),
            script,
            sessions: Arc::default(),
            stdout,
            heard: Mutex::default(),
            heard_more: Condvar::new(),
            together: Mutex::default(),
            next_question: AtomicU64::new(1),
            met: Mutex::default(),
            subscribed: Mutex::default(),
            listeners: Mutex::default(),
            era: Mutex::default(),
        })
    }

    /// The way out for what belongs to no request of this session; without one, to everybody.
    fn push(&self, session: &str) -> Outlet {
        match (&self.stdout, self.sessions.get(session)) {
            (Some(stdout), _) => Outlet::Stdout(Arc::clone(stdout)),
            (None, Some(session)) => Outlet::Stream(Arc::clone(&session.push)),
            (None, None) => Outlet::Everyone(Arc::clone(&self.sessions)),
        }
    }

    /// The behaviour the script gives for this message.
    fn steps_for(&self, request: &Request) -> Option<&Value> {
        let (table, raw) = match request.method.as_str() {
            "" => return None,
            "tools/call" => ("calls", &request.name),
            "prompts/get" => ("gets", &request.name),
            "resources/read" => ("reads", &request.uri),
            _ => ("on", &Vec::new()),
        };
        let special = match scan::text(raw) {
            Some(key) => self.behaviour(table, &key).or_else(|| self.behaviour(table, "*")),
            None => None,
        };
        let steps = special.or_else(|| self.behaviour("on", &request.method)).or_else(|| {
            let known = table != "on"
                || usual::knows(&self.script, &request.method)
                || request.modern && modern::knows(self, &request.method);
            if known { None } else { self.behaviour("on", "*") }
        });
        steps.map(|steps| request.round(steps))
    }

    /// Does the script say itself what becomes of the question for the era?
    fn is_scripted_discovery(&self, request: &Request) -> bool {
        let scripted = || self.script["on"].get("server/discover").is_some();
        request.method == "server/discover" && scripted()
    }

    /// The client has closed the connection of this request.
    fn abandoned(&self, id: &[u8]) {
        listen::close(self, id);
        self.ledger.lock().expect("no holder panics").closed(id);
        self.hear(|heard| {
            heard.cancelled.insert((String::new(), id.to_vec()));
        });
    }

    /// `first` steps are used as often as they say, then what comes after them.
    fn behaviour(&self, table: &str, key: &str) -> Option<&Value> {
        let steps = self.script.get(table)?.get(key)?;
        let Some(count) = steps.get("first").and_then(Value::as_u64) else { return Some(steps) };
        let mut met = self.met.lock().expect("no holder panics");
        let times = met.entry(format!("{table} {key}")).or_default();
        *times += 1;
        if *times <= count { steps.get("steps") } else { steps.get("then") }
    }

    /// Is the behaviour about the HTTP response of a message that has no answer of its own there?
    fn spoils_acceptance(&self, request: &Request) -> bool {
        let table = if request.method == "tools/call" { "calls" } else { "on" };
        let key = if table == "calls" { scan::text(&request.name) } else { None };
        let key = key.unwrap_or_else(|| request.method.clone());
        let steps = self.script.get(table).and_then(|table| table.get(&key));
        let steps = steps.map(|steps| steps.get("steps").unwrap_or(steps));
        let first = steps.and_then(|steps| steps.get(0));
        first.is_some_and(|step| step.get("http").is_some() || step.get("http_raw").is_some())
    }

    fn subscribe(&self, request: &Request, wanted: bool) {
        let key = (request.session.clone(), request.uri.clone());
        let mut subscribed = self.subscribed.lock().expect("no holder panics");
        match wanted {
            true => subscribed.insert(key),
            false => subscribed.remove(&key),
        };
        drop(subscribed);
        self.ledger.lock().expect("no holder panics").settled(&request.line);
    }

    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.heard.lock().expect("no holder panics"));
        self.heard_more.notify_all();
    }

    fn wait_heard<T>(&self, mut wanted: impl FnMut(&mut Heard) -> Option<T>) -> T {
        let mut heard = self.heard.lock().expect("no holder panics");
        loop {
            match wanted(&mut heard) {
                Some(found) => return found,
                None => heard = self.heard_more.wait(heard).expect("no holder panics"),
            }
        }
    }
}
