//! `Embedder`: somebody outside who says where texts point, before the model in the program does.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use trunkline_search::Vector;

pub trait Embedder: Debug + Send + Sync {
    /// Where these texts of tools point, as far as that is known. What is not is found out by and by.
    fn tools(&self, texts: &[String]) -> Vec<Option<Vector>>;

    /// Changes whenever more is known about tools.
    fn version(&self) -> u64;

    /// Where a question points; `None`: the model in the program has to do. Soon in any case.
    fn question(&self, text: &str) -> Asked;
}

pub type Asked = Pin<Box<dyn Future<Output = Option<Vector>> + Send>>;
