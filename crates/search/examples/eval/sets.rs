//! Sets as they lie on disk: one JSON object a line.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline_search::{Index, Model, Parameter, Server, Tool, Vector};

/// One tool of a set, with its server's words about itself.
pub(crate) struct Document {
    pub(crate) id: String,
    pub(crate) server: String,
    pub(crate) server_text: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Vec<(String, String)>,
}

pub(crate) struct Set {
    pub(crate) documents: Vec<Document>,
    pub(crate) requests: Vec<Request>,
}

/// What is asked, and the places of the tools that are meant.
pub(crate) struct Request {
    pub(crate) text: String,
    pub(crate) meant: BTreeSet<usize>,
    /// Its place in the file.
    pub(crate) place: usize,
}

impl Document {
    pub(crate) fn of(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let pair = |pair: &Value| {
            (
                pair[0].as_str().unwrap_or_default().to_owned(),
                pair[1].as_str().unwrap_or_default().to_owned(),
            )
        };
        Self {
            id: text("id"),
            server: text("server"),
            server_text: text("server_desc"),
            name: text("name"),
            description: text("description"),
            parameters: value["params"]
                .as_array()
                .map_or_else(Vec::new, |all| all.iter().map(pair).collect()),
        }
    }

    pub(crate) fn server(&self) -> Server<'_> {
        Server { name: &self.server, description: &self.server_text }
    }

    pub(crate) fn tool(&self) -> Tool<'_> {
        let parameters = self
            .parameters
            .iter()
            .map(|(name, description)| Parameter { name, description })
            .collect();
        let (name, description) = (self.name.as_str(), self.description.as_str());
        Tool { name, description, parameters, ..Tool::default() }
    }
}

/// The folder of a set, in whichever of the given folders it is.
pub(crate) fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|folder| folder.is_dir())
}

pub(crate) fn lines(file: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub(crate) fn read(folder: &Path) -> Result<Set, Box<dyn Error>> {
    let documents: Vec<Document> =
        lines(&folder.join("corpus.jsonl"))?.iter().map(Document::of).collect();
    let places: BTreeMap<&str, usize> =
        documents.iter().enumerate().map(|(at, document)| (document.id.as_str(), at)).collect();
    let mut meant: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for row in lines(&folder.join("qrels.jsonl"))? {
        if let (Some(asked), Some(&place)) =
            (text(&row, "qid"), text(&row, "did").and_then(|did| places.get(did)))
        {
            meant.entry(asked.to_owned()).or_default().insert(place);
        }
    }
    let mut requests = Vec::new();
    for (place, row) in lines(&folder.join("queries.jsonl"))?.iter().enumerate() {
        if let Some(meant) = text(row, "id").and_then(|id| meant.remove(id)) {
            let text = text(row, "text").unwrap_or_default().to_owned();
            requests.push(Request { text, meant, place });
        }
    }
    Ok(Set { documents, requests })
}

fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key)?.as_str()
}

/// Each tool under its place as the server's key: two of the same name stay apart.
pub(crate) fn index(
    documents: &[Document],
    vectors: Option<&[Option<Vector>]>,
) -> Result<Index, Box<dyn Error>> {
    let mut index = Index::new(Model::embedded()?);
    for (at, document) in documents.iter().enumerate() {
        let vector = vectors.and_then(|vectors| vectors.get(at)?.clone());
        let tool = Tool { vector, ..document.tool() };
        index.replace_server(&at.to_string(), &document.server(), &[tool]);
    }
    Ok(index)
}
