//! `trunkline top`: a full-screen view of servers and calls, redrawn at an interval.

use std::time::Instant;

use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use crate::cli::Top;
use crate::commands::running_serve::{ServeError, lines, per_minute, run as reach, servers};
use crate::environment::Environment;
use crate::rest::Rest;
use crate::serve_view::{Rates, SORTS, ServerLine, counts, list, record_line, sort, summary};
use crate::terminal::{KeyPress, Paint, Screen};
use crate::{OK, console};

/// What there is to be seen at one moment.
#[derive(Debug, Default)]
struct Snapshot {
    servers: Vec<ServerLine>,
    calls: Vec<Value>,
    per_minute: f64,
    /// Why there is nothing newer.
    trouble: Option<String>,
}

pub(crate) fn run(asked: &Top, environment: &Environment) -> u8 {
    reach(&asked.at, environment, async |rest| {
        let whole = !asked.at.json && console::stdout_is_terminal();
        match whole.then(Screen::open).transpose() {
            Ok(Some(screen)) => on_screen(asked, rest, &screen, environment.paint()).await,
            Ok(None) => in_lines(asked, rest).await,
            Err(error) => Err(ServeError::Failed(format!("the terminal cannot be used: {error}"))),
        }
    })
}

async fn on_screen(
    asked: &Top,
    rest: &Rest,
    screen: &Screen,
    paint: Paint,
) -> Result<u8, ServeError> {
    let failed = |error: std::io::Error| ServeError::Failed(error.to_string());
    let mut resized = signal(SignalKind::window_change()).map_err(failed)?;
    let mut clock = interval(asked.interval);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut rates, started) = (Rates::default(), Instant::now());
    let (mut look, mut by, mut seen) = (Snapshot::default(), 0, 0);
    loop {
        tokio::select! {
            _ = clock.tick() => {
                match look_at(rest, &mut rates, started).await {
                    Ok(new) => look = new,
                    // `serve` may be restarting: keep the last picture and try again.
                    Err(ServeError::Failed(why)) if seen > 0 => look.trouble = Some(why),
                    Err(trouble) => return Err(trouble),
                }
                seen += 1;
            }
            _ = resized.recv() => {}
            key = screen.key() => match key {
                KeyPress::Leave | KeyPress::Letter('q' | 'Q') => return Ok(OK),
                KeyPress::Letter('s') | KeyPress::Down => by = (by + 1) % SORTS.len(),
                KeyPress::Up => by = (by + SORTS.len() - 1) % SORTS.len(),
                KeyPress::Letter(_) | KeyPress::Other => continue,
            },
        }
        sort(&mut look.servers, by);
        screen.show(&page(&look, by, rest, paint));
        if asked.count.is_some_and(|count| seen >= count) {
            return Ok(OK);
        }
    }
}

/// A line for each look, or an object.
async fn in_lines(asked: &Top, rest: &Rest) -> Result<u8, ServeError> {
    let mut clock = interval(asked.interval);
    let (mut rates, started) = (Rates::default(), Instant::now());
    let mut seen = 0;
    loop {
        clock.tick().await;
        let look = look_at(rest, &mut rates, started).await?;
        let text = match asked.at.json {
            true => {
                let server = |it: &ServerLine| json!({"name": it.name, "status": it.status, "calls_per_minute": it.rate});
                let servers: Vec<Value> = look.servers.iter().map(server).collect();
                json!({"servers": servers, "calls_per_minute": look.per_minute}).to_string()
            }
            false => {
                let lines = list(&look.servers, usize::MAX, Paint::new(false)).join("\n");
                format!("{}, {:.0} calls/min\n{lines}\n", summary(&look.servers), look.per_minute)
            }
        };
        seen += 1;
        let told = console::reaches(&format!("{text}\n"));
        if !told || asked.count.is_some_and(|count| seen >= count) {
            return Ok(OK);
        }
    }
}

async fn look_at(rest: &Rest, rates: &mut Rates, started: Instant) -> Result<Snapshot, ServeError> {
    let raw = servers(rest).await?;
    let metrics = rest.send("GET", "/metrics", None).await?;
    rates.look(counts(&String::from_utf8_lossy(&metrics.body)), started.elapsed());
    if rates.is_first() {
        let all = rest.get("/api/v1/overview").await.ok().as_ref().and_then(per_minute);
        rates.begin_with(lines(rest, &raw).await, all);
    }
    let line = |server: &Value| {
        let mut line = ServerLine::read(server);
        line.rate = rates.of(&line.name);
        line
    };
    // Not everybody who may look at servers may read the audit log.
    let calls = rest.get("/api/v1/audit?limit=50&action=call-tool").await.unwrap_or_default();
    let calls = calls.get("records").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(Snapshot {
        servers: raw.iter().map(line).collect(),
        calls,
        per_minute: rates.all(),
        trouble: None,
    })
}

fn page(look: &Snapshot, by: usize, rest: &Rest, paint: Paint) -> Vec<String> {
    let (width, height) = (console::width(), console::height());
    let head =
        format!("{}  {}, {:.0} calls/min", rest.address(), summary(&look.servers), look.per_minute);
    let mut lines = vec![paint.bold(&crate::client::cut(&head, width))];
    if let Some(trouble) = &look.trouble {
        lines.push(paint.red(&crate::client::cut(trouble, width)));
    }
    lines.push(String::new());
    lines.extend(list(&look.servers, width, paint));
    lines.push(String::new());
    let foot = format!("q leaves  s sorts (by {})", SORTS.get(by).copied().unwrap_or_default());
    let room = height.saturating_sub(lines.len() + 1);
    let calls = look.calls.iter().take(room);
    lines.extend(calls.map(|call| record_line(call, width, paint).trim_end().to_owned()));
    lines.truncate(height.saturating_sub(1));
    lines.push(paint.dim(&crate::client::cut(&foot, width)));
    lines
}
