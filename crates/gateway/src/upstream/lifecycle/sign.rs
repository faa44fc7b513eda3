//! A sign of life: a server is asked something that every server has to answer.

use crate::era::Era;
use crate::upstream::connection::Connection;
use crate::upstream::transport::UpstreamId;

impl Connection {
    /// Any answer will do. Dropping the future takes the question back.
    pub(crate) async fn sign_of_life(&self) -> Result<(), String> {
        let method = match self.link.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        let (id, answer) = self.link.begin(method, b"").ok_or("it takes no messages")?;
        let question = Question { connection: self, id };
        let answered = answer.await;
        drop(question);
        match answered {
            Ok(answer) => answer.map(drop),
            Err(_) => Err("it has gone".to_owned()),
        }
    }
}

/// Servers that do not answer must not be left with ever more questions.
struct Question<'a> {
    connection: &'a Connection,
    id: UpstreamId,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let is_open = self.connection.link.pending.lock().remove(self.id).is_some();
        if is_open {
            self.connection.link.transport.forget(self.id);
        }
    }
}
