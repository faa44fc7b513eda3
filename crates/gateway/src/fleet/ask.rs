//! Is a server still there? Asked of the server itself.

use crate::fleet::Fleet;

impl Fleet {
    /// Asks it something that every server has to answer; any answer will do. Nobody's call, and no
    /// proof that the server is of use.
    pub async fn ask(&self, id: &str) -> Result<(), String> {
        let server = self.find(id).ok_or("there is no such server")?;
        let connection = server.connection().ok_or("it is not connected")?;
        connection.sign_of_life().await
    }
}
