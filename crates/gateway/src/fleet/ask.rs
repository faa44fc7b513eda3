//! Is a server still there? Asked of the server itself.

use crate::era::Era;
use crate::fleet::Fleet;

impl Fleet {
    /// Asks it something that every server has to answer; any answer will do.
    pub async fn ask(&self, id: &str) -> Result<(), String> {
        let server = self.find(id).ok_or("there is no such server")?;
        let connection = server.connection().ok_or("it is not connected")?;
        let method = match connection.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        match connection.request(method, b"").await {
            Some(answer) => answer.map(drop),
            None => Err("it has gone".to_owned()),
        }
    }
}
