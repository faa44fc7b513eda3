//! Values and rows as both databases know them: integers, texts, bytes, nothing.

use crate::error::StoreError;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(value) => Self::Int(value),
            Value::Text(text) => Self::Text(text),
            Value::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

impl From<Cell> for Value {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Int(value) => Self::Int(value),
            Cell::Text(text) => Self::Text(text),
            Cell::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Value {
    /// A text with NUL is one that only `SQLite` takes: neither gets it.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Text(text) if text.contains('\0') => {
                Err(StoreError::invalid("a text to be stored contains the character U+0000"))
            }
            _ => Ok(()),
        }
    }
}

/// One row; its columns are taken in their order.
#[derive(Debug)]
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    pub(crate) fn cells(self) -> Vec<Cell> {
        self.0.map(Cell::from).collect()
    }

    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(value),
            other => Err(unexpected("an integer", other.as_ref())),
        }
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        match self.0.next() {
            Some(Value::Int(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected("an integer", other.as_ref())),
        }
    }

    pub(crate) fn flag(&mut self) -> Result<bool, StoreError> {
        self.int().map(|value| value != 0)
    }

    pub(crate) fn text(&mut self) -> Result<String, StoreError> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(value),
            other => Err(unexpected("a text", other.as_ref())),
        }
    }

    /// Behind so many columns of any kind.
    pub(crate) fn text_at(&mut self, column: usize) -> Result<String, StoreError> {
        match self.0.nth(column) {
            Some(Value::Text(value)) => Ok(value),
            other => Err(unexpected("a text", other.as_ref())),
        }
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        match self.0.next() {
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected("a text", other.as_ref())),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.0.next() {
            Some(Value::Bytes(value)) => Ok(value),
            other => Err(unexpected("bytes", other.as_ref())),
        }
    }

    pub(crate) fn maybe_bytes(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        match self.0.next() {
            Some(Value::Bytes(value)) => Ok(Some(value)),
            Some(Value::Null) => Ok(None),
            other => Err(unexpected("bytes", other.as_ref())),
        }
    }

    pub(crate) fn hash(&mut self) -> Result<[u8; 32], StoreError> {
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| StoreError::corrupt("a hash has not 32 bytes"))
    }
}

/// Says what kind of value it was, never the value.
fn unexpected(wanted: &str, found: Option<&Value>) -> StoreError {
    let found = match found {
        None => "no column",
        Some(Value::Null) => "nothing",
        Some(Value::Int(_)) => "an integer",
        Some(Value::Text(_)) => "a text",
        Some(Value::Bytes(_)) => "bytes",
    };
    StoreError::corrupt(format!("a column holds {found} instead of {wanted}"))
}
