//! An OpenAI-compatible server on the loopback that answers as a test wants it to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A request, as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub head: String,
    pub body: Value,
}

/// What it is answered.
#[derive(Debug, Clone)]
pub struct Said {
    pub status: u16,
    pub body: String,
    /// First, it thinks so long.
    pub after: Duration,
}

type Script = Arc<dyn Fn(&Asked) -> Said + Send + Sync>;

/// Dropping it does not stop it: the test's process ends.
pub struct Llm {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    script: Arc<Mutex<Script>>,
}

impl std::fmt::Debug for Llm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Llm").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Said {
    /// A chat completion with this text.
    pub fn text(text: &str) -> Self {
        let message = json!({ "role": "assistant", "content": text });
        let body = json!({ "choices": [{ "index": 0, "message": message }] });
        Self { status: 200, body: body.to_string(), after: Duration::ZERO }
    }

    pub fn json(value: &Value) -> Self {
        Self::text(&value.to_string())
    }

    pub fn status(status: u16) -> Self {
        Self { status, body: r#"{"error":{"message":"no"}}"#.to_owned(), after: Duration::ZERO }
    }

    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.after = pause;
        self
    }
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// What the user says: the second line is the data.
    pub fn data(&self) -> Value {
        let user = self.body["messages"][1]["content"].as_str().unwrap_or_default();
        let line = user.lines().nth(1).unwrap_or_default();
        serde_json::from_str(line).unwrap_or_default()
    }

    /// The names of the tools that are asked about, in their order.
    pub fn tools(&self) -> Vec<String> {
        let data = self.data();
        let tools = data["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// An answer that gives each tool what `skills` says.
    pub fn each(&self, skills: impl Fn(&str) -> Value) -> Value {
        let entry = |(index, name): (usize, String)| {
            let mut entry = skills(&name);
            entry["index"] = index.into();
            entry
        };
        let tools: Vec<Value> = self.tools().into_iter().enumerate().map(entry).collect();
        json!({ "tools": tools })
    }
}

impl Llm {
    pub fn start(script: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let script: Script = Arc::new(script);
        let own = Self { address, asked: Arc::default(), script: Arc::new(Mutex::new(script)) };
        let (asked, script) = (Arc::clone(&own.asked), Arc::clone(&own.script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, script) = (Arc::clone(&asked), Arc::clone(&script));
                std::thread::spawn(move || answer(stream, &asked, &script));
            }
        });
        own
    }

    /// Up to `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// From now on it answers so.
    pub fn now(&self, script: impl Fn(&Asked) -> Said + Send + Sync + 'static) {
        *lock(&self.script) = Arc::new(script);
    }

    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<Asked>>, script: &Mutex<Script>) {
    let mut bytes = Vec::new();
    let mut room = [0; 16 * 1024];
    let (head, body) = loop {
        let Ok(count @ 1..) = stream.read(&mut room) else { return };
        bytes.extend_from_slice(&room[..count]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let whole = end + 4 + length.unwrap_or(0usize);
        if bytes.len() >= whole {
            break (head, bytes[end + 4..whole].to_vec());
        }
    };
    let request = Asked { head, body: serde_json::from_slice(&body).unwrap_or_default() };
    lock(asked).push(request.clone());
    let script = Arc::clone(&lock(script));
    let said = script(&request);
    std::thread::sleep(said.after);
    let head = format!(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        said.status,
        said.body.len()
    );
    // Whoever asked may have gone.
    drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(said.body.as_bytes())));
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
