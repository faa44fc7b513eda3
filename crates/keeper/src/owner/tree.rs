//! A server with all its descendants.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;

use super::control::Control;
use super::link::Links;
use super::strays;
use crate::exit::ProcessExit;
use crate::message::{KeeperReport, OwnerOrder};

/// Lives as long as this value at most: when it is dropped, the tree is killed.
#[derive(Debug)]
pub struct Tree {
    control: Control,
    keeper: Pid,
    links: Arc<Links>,
    exit: Option<ProcessExit>,
    /// What its walls have refused and nobody was told yet.
    refused: Vec<&'static str>,
    /// The keeper has said so, or the strays were cleared in its place.
    gone: bool,
}

impl Tree {
    pub(super) fn new(control: Control, keeper: Pid, links: Arc<Links>) -> Tree {
        Tree { control, keeper, links, exit: None, refused: Vec::new(), gone: false }
    }

    /// The number of the process that watches this tree.
    pub fn keeper(&self) -> u32 {
        self.keeper.as_raw_nonzero().get().cast_unsigned()
    }

    /// Waits until the main process has ended. Others of the tree may be left, for 300 ms at most.
    /// Cancel-safe; may be called again.
    pub async fn exited(&mut self) -> ProcessExit {
        loop {
            if let Some(exit) = self.exit {
                return exit;
            }
            self.listen().await;
        }
    }

    /// What the walls around the server have refused since this was asked last, each thing once. Known
    /// while [`Tree::exited`] or [`Tree::gone`] is waited for.
    pub fn take_refused(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.refused)
    }

    /// Waits until the main process has ended or its walls have refused something: `None` for that.
    /// Cancel-safe; may be called again.
    pub async fn exited_or_refused(&mut self) -> Option<ProcessExit> {
        while self.exit.is_none() && self.refused.is_empty() {
            self.listen().await;
        }
        self.exit.filter(|_| self.refused.is_empty())
    }

    /// After the server's stdin was closed: it may end by itself for `wait`, then all of the tree
    /// gets SIGTERM, and after `term` SIGKILL. Does not wait for any of it: [`Tree::gone`] does, and dropping the
    /// tree meanwhile leaves it 300 ms.
    pub fn stop(&mut self, wait: Duration, term: Duration) {
        self.control.send_order(OwnerOrder::Stop { wait, term });
    }

    /// SIGKILL to all of the tree, at once.
    pub fn kill(&mut self) {
        self.control.send_order(OwnerOrder::Kill);
    }

    /// Waits until nothing of the tree is left. Cancel-safe; may be called again. Does not stop the tree: without [`Tree::stop`] it waits for the server's own end.
    pub async fn gone(&mut self) {
        while self.listen().await {}
        if !self.gone {
            strays::clear_after(self.keeper, &self.links).await;
            self.gone = true;
        }
    }

    /// Takes in one report. False: there are no more.
    async fn listen(&mut self) -> bool {
        match self.control.next_report().await {
            Some(KeeperReport::Exited(exit)) => self.exit = Some(exit),
            Some(KeeperReport::Gone) => self.gone = true,
            Some(KeeperReport::Refused(refusal)) => self.refused.push(refusal.words()),
            Some(
                KeeperReport::Starting | KeeperReport::Started { .. } | KeeperReport::Failed { .. },
            ) => {}
            None => {
                self.exit.get_or_insert(ProcessExit::Lost);
                return false;
            }
        }
        true
    }
}
