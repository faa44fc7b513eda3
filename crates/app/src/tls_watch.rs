//! `TlsWatch`: the certificates of `serve`, read at the start and again when their files change.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use trunkline_gateway::{FrontTls, TlsFault, TlsFiles};

use crate::watch::{Pace, Watch};

/// For the other file of a pair to change as well, before it is told that the two do not fit.
const SECOND_FILE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct TlsWatch {
    tls: FrontTls,
    files: TlsFiles,
    watches: Vec<Watch>,
}

impl TlsWatch {
    /// Reads the files, or says what is wrong with them.
    pub(crate) fn open(files: TlsFiles) -> Result<Self, TlsFault> {
        let named: [Option<&PathBuf>; 3] =
            [Some(&files.certificate), Some(&files.key), files.client_authorities.as_ref()];
        // Before they are read, so that no change falls between.
        let watches = named.into_iter().flatten().map(|file| Watch::new(file, Pace::default()));
        let watches = watches.collect();
        Ok(Self { tls: FrontTls::read(&files)?, files, watches })
    }

    pub(crate) fn tls(&self) -> FrontTls {
        self.tls.clone()
    }

    /// Reads them again whenever one changes or SIGHUP comes, until it is dropped.
    pub(crate) async fn follow(watch: Option<Self>) -> io::Result<Infallible> {
        let Some(mut this) = watch else { return pending().await };
        let mut hangup = signal(SignalKind::hangup())?;
        let mut told = None;
        loop {
            let is_asked = this.stirred(&mut hangup).await;
            let mut replaced = this.tls.replace(&this.files);
            // Certificate and key are written one after the other: in between they do not fit.
            if replaced.is_err() && !is_asked {
                let second = timeout(SECOND_FILE, this.stirred(&mut hangup)).await;
                if second.is_ok() {
                    replaced = this.tls.replace(&this.files);
                }
            }
            match replaced {
                Ok(()) => {
                    told = None;
                    tracing::info!("the TLS certificate was read again; new connections get it");
                }
                Err(fault) => {
                    let words = fault.to_string();
                    if is_asked || told.as_ref() != Some(&words) {
                        tracing::error!(
                            "the TLS certificate cannot be replaced; the one from before stays in use: {words}"
                        );
                    }
                    told = Some(words);
                }
            }
        }
    }

    /// Waits until a file has changed, or SIGHUP has come: true.
    async fn stirred(&mut self, hangup: &mut Signal) -> bool {
        let mut changes: Vec<_> =
            self.watches.iter_mut().map(|watch| Box::pin(watch.changed())).collect();
        let changed = poll_fn(|context| {
            // All are polled: each arms its own watch.
            let ready = changes
                .iter_mut()
                .filter_map(|watch| watch.as_mut().poll(context).is_ready().then_some(()));
            if ready.count() > 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        let mut changed = pin!(changed);
        tokio::select! {
            () = &mut changed => false,
            Some(()) = hangup.recv() => true,
        }
    }
}
