//! `Views`: one view for each kind of client, shared by the fronts that serve those clients and by
//! whoever reports what they are served.

use std::collections::HashMap;
use std::sync::Arc;

use trunkline_catalog::client::Client;
use trunkline_catalog::name::Naming;

use crate::lock::{Mutex, rank};

use super::View;

#[derive(Debug)]
pub(crate) struct Views {
    /// For clients that have not said what they are.
    any: Arc<View>,
    /// By the id of the kind. There are as many as `Client` has kinds. A leaf lock: nothing is
    /// assembled while it is held.
    kinds: Mutex<HashMap<&'static str, Arc<View>>, rank::Views>,
}

impl Views {
    pub(crate) fn new(any: View) -> Self {
        Self { any: Arc::new(any), kinds: Mutex::default() }
    }

    /// What clients of this kind are served; `None`: clients that have not said what they are.
    pub(crate) fn of(&self, client: Option<Client>) -> Arc<View> {
        let Some(client) = client else { return Arc::clone(&self.any) };
        let new = || {
            let naming = Naming::for_client(self.any.naming.separator(), client);
            let view = View::new(Arc::clone(&self.any.registry), naming);
            let view = view.exposing(self.any.exposure).preset(self.any.preset_name());
            Arc::new(view.granted(self.any.grant().cloned()))
        };
        Arc::clone(self.kinds.lock().entry(client.id()).or_insert_with(new))
    }
}
