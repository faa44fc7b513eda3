//! Which fields a tool belongs to: a linear head on the embedding and on words, and how sure that is.

use std::sync::LazyLock;

use crate::bytes::{ByteReader, ModelError};
use crate::calibration::Calibration;
use crate::document::{self, Server, Tool};
use crate::model::Model;
use crate::words;

const KIND: &str = "trunkline skills 2\n";

static EMBEDDED: &[u8] = include_bytes!("../data/skills.bin");
static DEFAULT: LazyLock<Result<Classifier, ModelError>> =
    LazyLock::new(|| Classifier::parse(EMBEDDED));

/// Less likely than that, a second or third skill is not worth saying.
const LEAST: f32 = 0.15;
const MOST_SKILLS: usize = 3;
/// Words of servers and of tools are counted apart; `search/train/head.py` has the same letters.
const OF_SERVER: u8 = b's';
const OF_TOOL: u8 = b't';

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
    /// A row a skill: where servers, then where tools of it point.
    weights: Vec<f32>,
    /// A row a bucket of words: what it says for each skill, in steps of `step`.
    buckets: usize,
    words: &'static [u8],
    step: f32,
    biases: Vec<f32>,
    /// How much a tool's own text counts against those of its server's tools together.
    own: f32,
    first: Calibration,
    further: Calibration,
}

impl Classifier {
    /// The one that comes with the program, for the vectors of [`Model::embedded`].
    pub fn embedded() -> Result<&'static Self, &'static ModelError> {
        DEFAULT.as_ref()
    }

    fn parse(bytes: &'static [u8]) -> Result<Self, ModelError> {
        let mut reader = ByteReader::new(bytes, KIND)?;
        let count = reader.count(4096, "number of skills")?;
        let width = reader.count(4096, "width")?;
        let buckets = reader.count(1 << 20, "number of buckets")?;
        let mut skills = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, title) = (reader.text("skill")?, reader.text("title")?);
            skills.push(Skill { id, title, keywords: reader.text("keywords")? });
        }
        let weights = reader.floats(count * width * 2, "weights")?;
        let step = reader.float("step")?;
        let words = reader.take(count * buckets, "words")?;
        let biases = reader.floats(count, "biases")?;
        let own = reader.float("share")?;
        let first = Calibration::read(&mut reader)?;
        let further = Calibration::read(&mut reader)?;
        reader.end()?;
        Ok(Self { skills, width, weights, buckets, words, step, biases, own, first, further })
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
        let about = Features::new(self, model, OF_SERVER, &document::server_text(server));
        let own: Vec<Option<Vec<f32>>> = tools
            .iter()
            .map(|tool| Features::new(self, model, OF_TOOL, &document::text(server, tool)))
            .map(|tool| self.logits(&about, &tool))
            .collect();
        let together = mean(own.iter().flatten(), self.skills.len());
        own.iter()
            .map(|own| match own {
                Some(own) => self.judge(&mixed(own, &together, self.own)),
                None => Vec::new(),
            })
            .collect()
    }

    /// What is said for each skill; `None` if neither the server nor the tool points anywhere.
    fn logits(&self, server: &Features, tool: &Features) -> Option<Vec<f32>> {
        if server.vector.is_empty() && tool.vector.is_empty() {
            return None;
        }
        let rows = self.weights.chunks_exact(self.width * 2).zip(&self.biases);
        let mut logits: Vec<f32> = rows
            .map(|(row, bias)| {
                let (of_server, of_tool) = row.split_at(self.width);
                bias + product(of_server, &server.vector) + product(of_tool, &tool.vector)
            })
            .collect();
        for seen in [server, tool] {
            for row in seen.buckets.iter().filter_map(|&bucket| self.bucket(bucket)) {
                for (logit, &value) in logits.iter_mut().zip(row) {
                    *logit += f32::from(value.cast_signed()) * self.step * seen.weight;
                }
            }
        }
        Some(logits)
    }

    fn bucket(&self, bucket: usize) -> Option<&[u8]> {
        let start = bucket * self.skills.len();
        self.words.get(start..start + self.skills.len())
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

/// A text as the head sees it: where it points, and which words it has.
#[derive(Debug)]
struct Features {
    vector: Vec<f32>,
    buckets: Vec<usize>,
    /// What each word counts: a long text counts no more than a short one.
    weight: f32,
}

impl Features {
    #[expect(clippy::cast_precision_loss, reason = "a text has fewer words than 2^24")]
    fn new(head: &Classifier, model: &Model, kind: u8, text: &str) -> Self {
        let vector = model.embed(text).map(|vector| vector.numbers().collect()).unwrap_or_default();
        let mut buckets = Vec::new();
        for word in words::words(text) {
            buckets.extend(word.parts().iter().map(|part| bucket(kind, part, head.buckets)));
        }
        buckets.sort_unstable();
        buckets.dedup();
        let weight = 1.0 / (buckets.len().max(1) as f32).sqrt();
        Self { vector, buckets, weight }
    }
}

/// FNV-1a, as the training side has it.
fn bucket(kind: u8, word: &str, buckets: usize) -> usize {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = std::iter::once(kind).chain(word.bytes()).fold(0x811C_9DC5, mix);
    usize::try_from(hash).unwrap_or(0) % buckets.max(1)
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

fn mixed(own: &[f32], together: &[f32], share: f32) -> Vec<f32> {
    let mix = |(own, all): (&f32, &f32)| share * own + (1.0 - share) * all;
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

    /// The training side wrote down the buckets of a tool's words.
    #[test]
    fn words_fall_into_the_buckets_of_training() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../data/fixture.json")).unwrap();
        let (model, head) = (Model::embedded().unwrap(), Classifier::embedded().unwrap());
        for (kind, which) in [(OF_SERVER, "server"), (OF_TOOL, "tool")] {
            let text = fixture["said"][which].as_str().unwrap();
            let expected: Vec<u64> = fixture["buckets"][which]
                .as_array()
                .unwrap()
                .iter()
                .map(|bucket| bucket.as_u64().unwrap())
                .collect();
            let seen = Features::new(head, model, kind, text).buckets;
            assert_eq!(seen.iter().map(|&b| b as u64).collect::<Vec<_>>(), expected, "{which}");
        }
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
