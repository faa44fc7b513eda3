//! The static embedding: one vector a piece; a text points where the sum of its pieces points.

use std::sync::LazyLock;

use crate::bytes::{ByteReader, ModelError};
use crate::document::{self, Server, Tool};
use crate::pieces::Pieces;
use crate::vector::Vector;

const KIND: &str = "trunkline toolvec 1\n";

static EMBEDDED: &[u8] = include_bytes!("../data/toolvec.bin");

/// Read when first used: who never searches pays nothing. The table stays where it is in the program.
static DEFAULT: LazyLock<Result<Model, ModelError>> = LazyLock::new(|| Model::parse(EMBEDDED));

#[derive(Debug)]
pub struct Model {
    pieces: Pieces<'static>,
    width: usize,
    table: &'static [u8],
}

impl Model {
    /// The model that comes with the program.
    pub fn embedded() -> Result<&'static Self, &'static ModelError> {
        DEFAULT.as_ref()
    }

    fn parse(bytes: &'static [u8]) -> Result<Self, ModelError> {
        let mut reader = ByteReader::new(bytes, KIND)?;
        let count = reader.count(1 << 20, "number of pieces")?;
        let width = reader.count(4096, "width")?;
        let vocabulary = (0..count).map(|_| reader.text("piece")).collect::<Result<Vec<_>, _>>()?;
        let table = reader.take(count * width, "table")?;
        reader.end()?;
        Ok(Self { pieces: Pieces::new(&vocabulary), width, table })
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Where a text points; `None` if it holds nothing the model knows.
    #[must_use]
    pub fn embed(&self, text: &str) -> Option<Vector> {
        Vector::new(&self.sum(&self.pieces.of_text(text)))
    }

    /// Where a tool points, by all that is said about it.
    #[must_use]
    pub fn embed_tool(&self, server: &Server<'_>, tool: &Tool<'_>) -> Option<Vector> {
        let mut sums = self.sum(&self.pieces.of_text(&document::text(server, tool)));
        let about = self.sum(&self.pieces.of_text(&document::told(tool)));
        sums.iter_mut().zip(about).for_each(|(sum, value)| *sum += document::TOLD_SHARE * value);
        Vector::new(&sums)
    }

    /// Whole numbers up to 256 × 127: a float holds them exactly.
    pub(crate) fn sum(&self, pieces: &[u32]) -> Vec<f32> {
        let mut sums = vec![0.0; self.width];
        for row in pieces.iter().filter_map(|&piece| self.row(piece)) {
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += f32::from(value.cast_signed());
            }
        }
        sums
    }

    fn row(&self, piece: u32) -> Option<&[u8]> {
        let start = usize::try_from(piece).ok()? * self.width;
        self.table.get(start..start + self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(pieces: &[&str], width: u32, table: &[u8]) -> &'static [u8] {
        let mut bytes = KIND.as_bytes().to_vec();
        bytes.extend(u32::try_from(pieces.len()).unwrap().to_le_bytes());
        bytes.extend(width.to_le_bytes());
        for piece in pieces {
            bytes.extend(u16::try_from(piece.len()).unwrap().to_le_bytes());
            bytes.extend(piece.as_bytes());
        }
        bytes.extend(table);
        bytes.leak()
    }

    #[test]
    fn a_damaged_file_is_refused_in_words() {
        let good = file(&["a", "b"], 2, &[1, 2, 3, 4]);
        assert!(Model::parse(good).is_ok());
        let text = |bytes: &'static [u8]| Model::parse(bytes).unwrap_err().to_string();
        assert_eq!(
            text(b"PK"),
            "not a model file: it does not start with \"trunkline toolvec 1\\n\""
        );
        assert_eq!(
            text(good[..good.len() - 1].to_vec().leak()),
            "the model file ends early: table needs 4 bytes and 3 are left"
        );
        assert_eq!(
            text([good, b"!"].concat().leak()),
            "the model file has 1 bytes too many at its end"
        );
        assert_eq!(
            text(file(&[], 2, &[])),
            "the model file says number of pieces = 0, which cannot be"
        );
        assert_eq!(text(file(&["a"], 0, &[])), "the model file says width = 0, which cannot be");
        for end in 0..good.len() {
            assert!(Model::parse(&good[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_text_points_where_its_pieces_do() {
        let model = Model::parse(file(&["up", "left"], 2, &[0, 100, 0x9C, 0])).unwrap();
        let numbers = |text| model.embed(text).map(|v| v.numbers().collect::<Vec<_>>());
        assert_eq!(numbers("up up"), Some(vec![0.0, 1.0]));
        let both = numbers("left up").unwrap();
        assert!((both[0] + 0.707).abs() < 0.01 && (both[1] - 0.707).abs() < 0.01, "{both:?}");
        assert_eq!(numbers("right"), None);
    }

    #[test]
    fn what_a_parameter_is_for_counts_half() {
        let model = Model::parse(file(&["up", "left"], 2, &[0, 100, 100, 0])).unwrap();
        let parameters = vec![crate::Parameter { name: "", description: "up" }];
        let tool = Tool { name: "left", parameters, ..Tool::default() };
        let vector = model.embed_tool(&Server::default(), &tool).unwrap();
        let numbers: Vec<f32> = vector.numbers().collect();
        assert!((numbers[1] / numbers[0] - 0.5).abs() < 0.01, "{numbers:?}");
    }

    #[test]
    fn the_embedded_model_is_whole() {
        let model = Model::embedded().unwrap();
        assert!(EMBEDDED.len() <= 8 << 20);
        assert!(model.embed("create a pull request").is_some());
        assert_eq!(model.embed("\u{1F980}"), None);
    }

    /// The training side wrote down what it saw in texts that are easily seen differently.
    #[test]
    fn texts_are_seen_as_in_training() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../data/fixture.json")).unwrap();
        let model = Model::embedded().unwrap();
        for case in fixture["texts"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            let pieces: Vec<u64> = model.pieces.of_text(text).into_iter().map(u64::from).collect();
            let expected: Vec<u64> =
                case["pieces"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
            assert_eq!(pieces, expected, "{text:?}");
            let vector = model.embed(text);
            let numbers: Vec<f32> = vector.iter().flat_map(Vector::numbers).collect();
            let step = vector.as_ref().map_or(0.0, |vector| vector.scale);
            for (number, expected) in numbers.iter().zip(case["vector"].as_array().unwrap()) {
                let apart = (f64::from(*number) - expected.as_f64().unwrap()).abs();
                assert!(apart <= f64::from(step) * 0.51 + 1e-5, "{text:?}: {number} {expected}");
            }
        }
    }
}
