//! The products of one vector with many, in bytes, with what the processor at hand can do.
//!
//! `unsafe` is denied here, so no intrinsics: the loop is written so that the compiler makes vector
//! instructions of it, and `fearless_simd` has it compiled for each level (SSE4.2, AVX2, NEON) and
//! picks one at run time. docs/search.md has the figures.

use fearless_simd::{Level, dispatch};

/// `scores[i]` = `query` · row i of `rows`, which lie one behind the other.
pub(crate) fn products(query: &[i8], rows: &[i8], scores: &mut Vec<i32>) {
    scores.clear();
    if query.is_empty() {
        return;
    }
    scores.resize(rows.len() / query.len(), 0);
    dispatch!(Level::new(), _simd => kernel(query, rows, scores));
}

/// Plain loops: what is handed to a function of the library (`extend`, `sum`) may be compiled there,
/// for any processor.
#[inline(always)]
fn kernel(query: &[i8], rows: &[i8], scores: &mut [i32]) {
    for (score, row) in scores.iter_mut().zip(rows.chunks_exact(query.len())) {
        *score = product(query, row);
    }
}

/// Blocks of a known length are what the compiler unrolls and joins in pairs.
#[inline(always)]
fn product(left: &[i8], right: &[i8]) -> i32 {
    const BLOCK: usize = 64;
    let (left_blocks, left_rest) = left.as_chunks::<BLOCK>();
    let (right_blocks, right_rest) = right.as_chunks::<BLOCK>();
    let mut sum = 0;
    for (a, b) in left_blocks.iter().zip(right_blocks) {
        for (x, y) in a.iter().zip(b) {
            sum += i32::from(*x) * i32::from(*y);
        }
    }
    for (x, y) in left_rest.iter().zip(right_rest) {
        sum += i32::from(*x) * i32::from(*y);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fast_way_gives_what_the_plain_one_does(
            width in 1usize..300,
            seed in any::<u64>(),
            count in 0usize..5,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_le_bytes()[5].cast_signed()
            };
            let query: Vec<i8> = (0..width).map(|_| next()).collect();
            let rows: Vec<i8> = (0..width * count).map(|_| next()).collect();
            let plain: Vec<i32> = rows
                .chunks(width)
                .map(|row| row.iter().zip(&query).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum())
                .collect();
            let mut scores = vec![7];
            products(&query, &rows, &mut scores);
            prop_assert_eq!(scores, plain);
        }
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        let mut scores = Vec::new();
        products(&[-128; 4096], &[-128; 4096], &mut scores);
        assert_eq!(scores, [4096 * 128 * 128]);
    }
}
