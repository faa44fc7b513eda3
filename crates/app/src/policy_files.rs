//! Policies in files: which they are, what they say, and what to do when they change.

use std::convert::Infallible;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use trunkline_control::policies::{GroupsClaim, PolicyHolder};
use trunkline_control::services::unnamed_grant;
use trunkline_gateway::{Fleet, Options};
use trunkline_policy::{PolicyFault, PolicySource};

use crate::watch::{Pace, Watch};
use crate::{USAGE, console};

/// Far above any real policy; a device or a log file given by mistake ends here.
const LARGEST: u64 = 1 << 20;
/// Files of one directory.
const MOST_FILES: usize = 1_000;
const ENDING: &str = "cedar";

/// Where policies are: a file, or a directory with `*.cedar`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicyFiles(Vec<PathBuf>);

impl PolicyFiles {
    /// What a config names, relative to it, and what the command line names.
    pub(crate) fn named(config: (&Path, Option<&str>), flags: &[PathBuf]) -> Self {
        let (path, named) = config;
        let folder = path.parent().unwrap_or(Path::new("."));
        let named = named.map(|named| folder.join(named));
        Self(named.into_iter().chain(flags.iter().cloned()).collect())
    }

    /// Exactly these.
    pub(crate) fn at(paths: &[PathBuf]) -> Self {
        Self(paths.to_vec())
    }

    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every text, or which file cannot be read.
    pub(crate) fn read(&self) -> Result<Vec<PolicySource>, String> {
        let mut sources = Vec::new();
        for path in &self.0 {
            for file in files(path)? {
                let text = text(&file).map_err(|why| format!("{}: {why}", file.display()))?;
                sources.push(PolicySource { name: file.display().to_string(), text });
            }
        }
        Ok(sources)
    }

    /// A holder with what the files say, or what is wrong with them.
    pub(crate) fn load(&self, groups: GroupsClaim) -> Result<Arc<PolicyHolder>, String> {
        let holder = PolicyHolder::new(groups);
        holder.set_files(self.read()?).map_err(|faults| lines(&faults))?;
        Ok(holder)
    }

    /// Narrows what is shown to clients of which nobody asks who they are.
    pub(crate) fn narrow(
        &self,
        options: &mut Options,
        has_token: bool,
    ) -> Result<Option<Arc<PolicyHolder>>, String> {
        if self.is_empty() {
            return Ok(None);
        }
        let holder = self.load(GroupsClaim::default())?;
        options.shown.grant = Some(unnamed_grant(&holder, has_token));
        Ok(Some(holder))
    }

    /// Narrows what is shown to clients of this machine, or tells on stderr what is wrong.
    pub(crate) fn narrow_or_tell(
        &self,
        options: &mut Options,
    ) -> Result<Option<Arc<PolicyHolder>>, ()> {
        self.narrow(options, false).map_err(|what| {
            console::problem(&format!("error: {what}\n"), USAGE);
        })
    }

    /// Reads them again whenever something happens beside them, until it is dropped. What is broken is told, and
    /// changes nothing.
    pub(crate) async fn follow(&self, holder: Option<&Arc<PolicyHolder>>) -> Infallible {
        let Some(holder) = holder.filter(|_| !self.is_empty()) else {
            return std::future::pending().await;
        };
        let mut watches: Vec<Watch> =
            self.0.iter().map(|path| Watch::new(&beside(path), Pace::default())).collect();
        let mut known = self.read();
        loop {
            stirred(&mut watches).await;
            let mut now = self.read();
            if now == known {
                continue;
            }
            // A save is several steps: what is half written is not looked at.
            loop {
                sleep(REST).await;
                let then = std::mem::replace(&mut now, self.read());
                if then == now {
                    break;
                }
            }
            match &now {
                Ok(sources) => match holder.set_files(sources.clone()) {
                    Ok(()) => tracing::info!("the policies were read again"),
                    Err(faults) => tracing::error!(
                        "the edited policies are not valid; those from before stay in force\n{}",
                        lines(&faults)
                    ),
                },
                Err(why) => tracing::error!(
                    "the policies cannot be read again; those from before stay in force: {why}"
                ),
            }
            known = now;
        }
    }
}

/// A file that has not changed for this long is finished.
const REST: Duration = Duration::from_millis(150);

async fn stirred(watches: &mut [Watch]) {
    // Any of them: the first that wakes ends the wait, and the next look arms all again.
    let mut waiting: Vec<_> = watches.iter_mut().map(|watch| Box::pin(watch.stirred())).collect();
    std::future::poll_fn(|context| {
        match waiting.iter_mut().any(|watch| watch.as_mut().poll(context).is_ready()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// A file in the directory that is watched.
fn beside(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("x"),
        false => path.to_owned(),
    }
}

/// In the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|ending| ending == ENDING) && !is_hidden(&file) {
            files.push(file);
        }
    }
    if files.len() > MOST_FILES {
        return Err(format!("{}: more than {MOST_FILES} files", path.display()));
    }
    if files.is_empty() {
        // Not "no policies": whoever named it wants some, and its last file may just have been moved away.
        return Err(format!("{}: no file there is called *.{ENDING}", path.display()));
    }
    files.sort();
    Ok(files)
}

/// Editors keep what is not saved yet in such files.
fn is_hidden(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

fn text(file: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    opened.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// One line for each.
pub(crate) fn lines(faults: &[PolicyFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The data plane runs: it is asked for what tools say about themselves.
pub(crate) fn attach(holder: Option<&Arc<PolicyHolder>>, fleet: &Fleet) {
    if let Some(holder) = holder {
        holder.attach(fleet.clone());
    }
}
