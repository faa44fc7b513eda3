//! An owner of trees that does what it is told line by line; `tests/custody.rs` kills it.
//!
//! `keep MARK` reads from stdin, fields separated by tabs:
//! `spawn NAME CWD COMMAND ARG…`, `stop NAME WAIT_MS TERM_MS`, `kill NAME`, `drop NAME`,
//! and says on stdout `started NAME KEEPER SERVER`, `failed NAME WHY`, `exited NAME HOW`,
//! `gone NAME`. Servers get the environment `PATH` and `MARK`, by which the test finds them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use trunkline_keeper::{Custody, Keeper, Launch};

fn main() -> ExitCode {
    if let Some(code) = trunkline_keeper::run_if_asked() {
        return code;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.and_then(|runtime| runtime.block_on(serve())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error {error}"));
            ExitCode::FAILURE
        }
    }
}

enum Order {
    Stop(Duration, Duration),
    Kill,
}

async fn serve() -> io::Result<()> {
    let mark = std::env::args_os().nth(1).unwrap_or_default();
    let keeper = Keeper::start()?;
    let mut tasks = JoinSet::new();
    tasks.spawn(reap(keeper.clone()));
    let mut trees: HashMap<String, Sender<Order>> = HashMap::new();
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["spawn", name, cwd, command, args @ ..] => {
                let launch = launch(&mark, cwd, command, args);
                let (sender, orders) = channel(8);
                trees.insert((*name).to_owned(), sender);
                tasks.spawn(hold(Arc::from(*name), keeper.clone(), launch, orders));
            }
            ["stop", name, wait, term] => {
                order(&trees, name, Order::Stop(millis(wait), millis(term))).await;
            }
            ["kill", name] => order(&trees, name, Order::Kill).await,
            ["drop", name] => drop(trees.remove(*name)),
            _ => say(&format!("error {line}")),
        }
    }
    Ok(())
}

async fn reap(keeper: Keeper) {
    if let Err(error) = keeper.reap().await {
        say(&format!("error {error}"));
    }
}

async fn hold(name: Arc<str>, keeper: Keeper, launch: Launch, mut orders: Receiver<Order>) {
    let Custody { stdin, stdout, stderr, pid, mut tree } = match keeper.spawn(&launch).await {
        Ok(custody) => custody,
        Err(error) => return say(&format!("failed {name} {error}")),
    };
    say(&format!("started {name} {} {pid}", tree.keeper()));
    let mut stdin = Some(stdin);
    let exit = loop {
        tokio::select! {
            exit = tree.exited() => break exit,
            order = orders.recv() => match order {
                Some(Order::Stop(wait, term)) => {
                    stdin = None;
                    tree.stop(wait, term);
                }
                Some(Order::Kill) => tree.kill(),
                None => return,
            },
        }
    };
    say(&format!("exited {name} {exit}"));
    tree.gone().await;
    drop((stdin, stdout, stderr, tree));
    say(&format!("gone {name}"));
}

async fn order(trees: &HashMap<String, Sender<Order>>, name: &str, order: Order) {
    if let Some(tree) = trees.get(name)
        && tree.send(order).await.is_err()
    {
        say(&format!("error {name} has ended"));
    }
}

fn launch(mark: &OsString, cwd: &str, command: &str, args: &[&str]) -> Launch {
    Launch {
        command: command.into(),
        args: args.iter().map(OsString::from).collect(),
        env: vec![
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("MARK".into(), mark.clone()),
        ],
        cwd: (!cwd.is_empty()).then(|| cwd.into()),
        ..Launch::default()
    }
}

fn millis(text: &str) -> Duration {
    Duration::from_millis(text.parse().unwrap_or(0))
}

/// stdin is read by a thread, as it is a blocking descriptor.
fn lines() -> Receiver<String> {
    let (sender, receiver) = channel(64);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    // The test may have gone away; then this process ends with its stdin.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
