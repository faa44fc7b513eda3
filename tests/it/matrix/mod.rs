//! What holds for the stdio aggregator holds over every front and every upstream: three by three.

mod faults;
mod fidelity;
mod tools;
