//! Which fields a tool belongs to: a linear head on the embedding, and how sure that is.

use std::sync::LazyLock;

use crate::bytes::{ModelError, Reader};
use crate::document::{self, Server, Tool};
use crate::model::Model;

const KIND: &str = "trunkline skills 1\n";

static EMBEDDED: &[u8] = include_bytes!("../data/skills.bin");
static DEFAULT: LazyLock<Result<Classifier, ModelError>> =
    LazyLock::new(|| Classifier::parse(EMBEDDED));

/// Less likely than that, a second or third skill is not worth saying.
const LEAST: f32 = 0.15;
const MOST_SKILLS: usize = 3;
/// How much a tool's own text counts against those of its server's tools together.
const OWN_SHARE: f32 = 0.5;

/// A field of work that tools belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub id: &'static str,
    pub title: &'static str,
    /// Words that are typical of it: an embedding of a skill is made of these and its title.
    pub keywords: &'static str,
}

/// One skill of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub skill: &'static str,
    /// How likely somebody who looks would agree: measured on servers the head was not made from.
    pub confidence: f32,
}

#[derive(Debug)]
pub struct Classifier {
    skills: Vec<Skill>,
    width: usize,
    weights: Vec<f32>,
    biases: Vec<f32>,
    first: Calibration,
    further: Calibration,
}

impl Classifier {
    /// The one that comes with the program, for the vectors of [`Model::embedded`].
    pub fn embedded() -> Result<&'static Self, &'static ModelError> {
        DEFAULT.as_ref()
    }

    fn parse(bytes: &'static [u8]) -> Result<Self, ModelError> {
        let mut reader = Reader::new(bytes, KIND)?;
        let count = reader.count(4096, "number of skills")?;
        let width = reader.count(4096, "width")?;
        let mut skills = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, title) = (reader.text("skill")?, reader.text("title")?);
            skills.push(Skill { id, title, keywords: reader.text("keywords")? });
        }
        let weights = reader.floats(count * width, "weights")?;
        let biases = reader.floats(count, "biases")?;
        let first = Calibration::read(&mut reader)?;
        let further = Calibration::read(&mut reader)?;
        reader.end()?;
        Ok(Self { skills, width, weights, biases, first, further })
    }

    #[must_use]
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// The skills of each of a server's tools, the likeliest first; none for a tool that points
    /// nowhere. They are judged together: what a server is about is seen in all of them.
    #[must_use]
    pub fn classify(
        &self,
        model: &Model,
        server: &Server<'_>,
        tools: &[Tool<'_>],
    ) -> Vec<Vec<Judgement>> {
        let own: Vec<Option<Vec<f32>>> = tools
            .iter()
            .map(|tool| self.logits(model, &document::skill_text(server, tool)))
            .collect();
        let together = mean(own.iter().flatten(), self.skills.len());
        own.iter()
            .map(|own| match own {
                Some(own) => self.judge(&mixed(own, &together)),
                None => Vec::new(),
            })
            .collect()
    }

    fn logits(&self, model: &Model, text: &str) -> Option<Vec<f32>> {
        let vector: Vec<f32> = model.embed(text)?.numbers().collect();
        let rows = self.weights.chunks_exact(self.width).zip(&self.biases);
        Some(rows.map(|(row, bias)| bias + product(row, &vector)).collect())
    }

    fn judge(&self, logits: &[f32]) -> Vec<Judgement> {
        let mut shares: Vec<(f32, &Skill)> =
            softmax(logits).into_iter().zip(&self.skills).collect();
        shares.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(b.1.id)));
        let said = |(rank, (share, skill)): (usize, (f32, &Skill))| {
            let calibration = if rank == 0 { &self.first } else { &self.further };
            Judgement { skill: skill.id, confidence: calibration.confidence(share) }
        };
        let likely = shares.into_iter().take(MOST_SKILLS).enumerate();
        let mut found: Vec<Judgement> =
            likely.filter(|(rank, (share, _))| *rank == 0 || *share >= LEAST).map(said).collect();
        // Two tables may disagree by a hair; the order of confidence is what is promised.
        found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        found
    }
}

/// What the head says → how often it was right when it said so: rising steps with lines between.
#[derive(Debug)]
struct Calibration {
    points: Vec<(f32, f32)>,
}

impl Calibration {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ModelError> {
        let count = reader.count(4096, "points of calibration")?;
        let mut points = Vec::with_capacity(count);
        for _ in 0..count {
            points.push((reader.float("share")?, reader.float("confidence")?));
        }
        Ok(Self { points })
    }

    fn confidence(&self, share: f32) -> f32 {
        let after = self.points.partition_point(|(x, _)| *x <= share);
        let before = after.checked_sub(1).and_then(|at| self.points.get(at));
        let value = match (before, self.points.get(after)) {
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (share - x0) / (x1 - x0),
            (Some((_, y)), None) | (None, Some((_, y))) => *y,
            (None, None) => 0.0,
        };
        value.clamp(0.0, 1.0)
    }
}

fn product(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

#[expect(clippy::cast_precision_loss, reason = "a server has fewer tools than 2^24")]
fn mean<'a>(rows: impl Iterator<Item = &'a Vec<f32>>, width: usize) -> Vec<f32> {
    let mut sums = vec![0.0; width];
    let mut count = 0usize;
    for row in rows {
        count += 1;
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().map(|sum| sum / count.max(1) as f32).collect()
}

fn mixed(own: &[f32], together: &[f32]) -> Vec<f32> {
    let mix = |(own, all): (&f32, &f32)| OWN_SHARE * own + (1.0 - OWN_SHARE) * all;
    own.iter().zip(together).map(mix).collect()
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let raised: Vec<f32> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let total: f32 = raised.iter().sum();
    raised.into_iter().map(|value| value / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_lies_on_the_lines_between_the_points() {
        let calibration = Calibration { points: vec![(0.2, 0.1), (0.4, 0.5), (0.8, 0.9)] };
        let cases = [(0.0, 0.1), (0.2, 0.1), (0.3, 0.3), (0.4, 0.5), (0.6, 0.7), (1.0, 0.9)];
        for (share, expected) in cases {
            assert!((calibration.confidence(share) - expected).abs() < 1e-6, "{share}");
        }
        assert!(Calibration { points: Vec::new() }.confidence(0.5).abs() < 1e-6);
    }

    #[test]
    fn a_damaged_head_is_refused() {
        for end in (0..EMBEDDED.len()).step_by(97) {
            assert!(Classifier::parse(&EMBEDDED[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_tool_has_one_to_three_skills_the_likeliest_first() {
        let (model, classifier) = (Model::embedded().unwrap(), Classifier::embedded().unwrap());
        assert_eq!(classifier.skills().len(), 31);
        let cases = [
            ("postgres", "run_query", "Run a SQL query on a database table", "database"),
            ("open-meteo", "get_forecast", "Weather forecast for a city", "weather_environment"),
            ("binance", "get_price", "Price of a token on the blockchain", "crypto_blockchain"),
        ];
        for (server, name, description, expected) in cases {
            let server = Server { name: server, description: "" };
            let tool = Tool { name, description, ..Tool::default() };
            let judged = classifier.classify(model, &server, &[tool]);
            let judged = judged.first().unwrap();
            assert_eq!(judged[0].skill, expected, "{judged:?}");
            assert!(judged.len() <= MOST_SKILLS);
            assert!(judged.is_sorted_by(|a, b| a.confidence >= b.confidence));
            assert!(judged.iter().all(|one| (0.0..=1.0).contains(&one.confidence)));
        }
    }

    #[test]
    fn a_tool_without_a_known_word_has_no_skill() {
        let (model, classifier) = (Model::embedded().unwrap(), Classifier::embedded().unwrap());
        let tool = Tool { name: "\u{1F980}", ..Tool::default() };
        assert_eq!(classifier.classify(model, &Server::default(), &[tool]), [Vec::new()]);
    }
}
