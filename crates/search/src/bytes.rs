//! Reads the model files: lengths are checked before anything is taken, and errors say what is wrong.

/// Why a model file cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    #[error("not a model file: it does not start with {expected:?}")]
    Kind { expected: &'static str },
    #[error("the model file ends early: {what} needs {wanted} bytes and {left} are left")]
    Short { what: &'static str, wanted: usize, left: usize },
    #[error("the model file has {0} bytes too many at its end")]
    Long(usize),
    #[error("the model file has a {what} that is not UTF-8")]
    Text { what: &'static str },
    #[error("the model file says {what} = {value}, which cannot be")]
    Number { what: &'static str, value: u64 },
}

#[derive(Debug)]
pub(crate) struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8], kind: &'static str) -> Result<Self, ModelError> {
        let rest =
            bytes.strip_prefix(kind.as_bytes()).ok_or(ModelError::Kind { expected: kind })?;
        Ok(Self { rest })
    }

    pub(crate) fn take(
        &mut self,
        wanted: usize,
        what: &'static str,
    ) -> Result<&'a [u8], ModelError> {
        let left = self.rest.len();
        let (taken, rest) =
            self.rest.split_at_checked(wanted).ok_or(ModelError::Short { what, wanted, left })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], ModelError> {
        let left = self.rest.len();
        let short = ModelError::Short { what, wanted: N, left };
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A count from 1 to `most`: a damaged one must not make us ask for the world.
    pub(crate) fn count(&mut self, most: usize, what: &'static str) -> Result<usize, ModelError> {
        let value = u32::from_le_bytes(self.array(what)?);
        match usize::try_from(value) {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(ModelError::Number { what, value: value.into() }),
        }
    }

    pub(crate) fn text(&mut self, what: &'static str) -> Result<&'a str, ModelError> {
        let length = usize::from(u16::from_le_bytes(self.array(what)?));
        str::from_utf8(self.take(length, what)?).map_err(|_| ModelError::Text { what })
    }

    pub(crate) fn float(&mut self, what: &'static str) -> Result<f32, ModelError> {
        let value = f32::from_le_bytes(self.array(what)?);
        if value.is_finite() {
            Ok(value)
        } else {
            Err(ModelError::Number { what, value: value.to_bits().into() })
        }
    }

    pub(crate) fn floats(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<Vec<f32>, ModelError> {
        (0..count).map(|_| self.float(what)).collect()
    }

    pub(crate) fn end(self) -> Result<(), ModelError> {
        if self.rest.is_empty() { Ok(()) } else { Err(ModelError::Long(self.rest.len())) }
    }
}
