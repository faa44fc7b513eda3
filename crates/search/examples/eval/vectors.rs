//! Vectors that another model gave for a set (`search/eval/minilm.py`), to be put in our model's place.

use std::error::Error;
use std::path::Path;

use trunkline_search::Vector;

pub(crate) struct Vectors {
    /// In the order of the set's files; `None` for a text that points nowhere.
    pub(crate) tools: Vec<Option<Vector>>,
    pub(crate) requests: Vec<Option<Vector>>,
}

/// `None` if there are none for this set.
pub(crate) fn read(folder: &Path, set: &str) -> Result<Option<Vectors>, Box<dyn Error>> {
    let file = |what: &str| folder.join(format!("{set}.{what}.vectors"));
    if !file("tools").is_file() || !file("requests").is_file() {
        return Ok(None);
    }
    Ok(Some(Vectors { tools: rows(&file("tools"))?, requests: rows(&file("requests"))? }))
}

/// Two counts, then the numbers, all little-endian.
fn rows(file: &Path) -> Result<Vec<Option<Vector>>, Box<dyn Error>> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let words: Vec<[u8; 4]> =
        bytes.chunks_exact(4).filter_map(|four| four.try_into().ok()).collect();
    let [count, width, numbers @ ..] = words.as_slice() else {
        return Err(format!("{}: too short", file.display()).into());
    };
    let (count, width) = (u32::from_le_bytes(*count) as usize, u32::from_le_bytes(*width) as usize);
    if width == 0 || numbers.len() != count * width {
        return Err(format!("{}: {count} × {width} numbers are promised", file.display()).into());
    }
    let numbers: Vec<f32> = numbers.iter().map(|four| f32::from_le_bytes(*four)).collect();
    Ok(numbers.chunks_exact(width).map(Vector::new).collect())
}
