//! `install` as a user meets it: real files in a folder of their own, one test for each case.

mod cases;
mod clients;
mod files;
mod kit;
mod leaving;
mod systems;
