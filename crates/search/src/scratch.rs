//! Room for one search, used again by the next: a hundred thousand scores are too much to ask the system
//! for each time.

use parking_lot::Mutex;

/// Each by slot.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) words: Vec<f32>,
    pub(crate) products: Vec<i32>,
    pub(crate) cosines: Vec<f32>,
    pub(crate) scores: Vec<f32>,
}

#[derive(Debug, Default)]
// A leaf, held for a push or a pop: the search itself runs on scratch that was taken out.
pub(crate) struct ScratchPool(Mutex<Vec<Scratch>>);

/// Searches at a time that are worth keeping room for.
const KEPT: usize = 2;

impl ScratchPool {
    pub(crate) fn take(&self) -> Scratch {
        self.0.lock().pop().unwrap_or_default()
    }

    pub(crate) fn put(&self, scratch: Scratch) {
        let mut held = self.0.lock();
        if held.len() < KEPT {
            held.push(scratch);
        }
    }
}
