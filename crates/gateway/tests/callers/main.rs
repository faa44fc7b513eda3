//! A gateway in this process, with a gate and an attachment: who is let in, what they see, and what
//! else can be had on the same address. Over real sockets, with real servers behind it.

#[cfg(test)]
mod gate;
#[cfg(test)]
mod grant;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod server;
#[cfg(test)]
mod web;
#[cfg(test)]
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = trunkline_keeper::run_if_asked() {
        return code;
    }
    let mut words = std::env::args().skip(1);
    match (words.next().as_deref(), words.next()) {
        (Some(server::WORD), Some(key)) => server::run(&key),
        (Some(searching::WORD), _) => searching::a_call_is_answered_while_no_search_gets_on(),
        _ => {
            let tests = [gate::TESTS, grant::TESTS, web::TESTS].concat();
            let words: Vec<String> = std::env::args().skip(1).collect();
            scene::run(&words, searching::APART, &tests)
        }
    }
}
