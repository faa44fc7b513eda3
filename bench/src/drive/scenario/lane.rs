//! One contender's lane in a scenario: its process, its calls, and the ways to make them.

use crate::drive::call::{self, Call, SLOTS};
use crate::drive::target::Target;
use std::time::{Duration, Instant};

pub(super) struct Lane {
    pub(super) target: Target,
    calls: Vec<Call>,
    next: usize,
    /// Turns taken so far.
    pub(super) turns: usize,
    /// Why a peer is out; anybody else's failure ends the scenario.
    pub(super) failed: Option<String>,
}

impl Lane {
    pub(super) fn new(target: Target, calls: Vec<Call>) -> Self {
        Self { target, calls, next: 0, turns: 0, failed: None }
    }

    /// Bytes of a request and of its direct answer.
    pub(super) fn lengths(&self) -> (usize, usize) {
        self.calls.first().map_or((0, 0), Call::lengths)
    }

    /// Calls `count` times, one after the other, and adds each call's nanoseconds to `samples`.
    pub(super) fn sequential(
        &mut self,
        count: usize,
        samples: &mut Vec<u64>,
    ) -> Result<(), String> {
        for _ in 0..count {
            let call = advance(&mut self.calls, &mut self.next);
            let id = call::id(self.target.count, 0);
            self.target.count += 1;
            let connection = self.target.connection(call.group);
            let request = call.request(id);
            let begin = Instant::now();
            connection.send(request)?;
            let mut span = connection.line()?;
            samples.push(begin.elapsed().as_nanos() as u64);
            while connection.aside(span.clone())? {
                span = connection.line()?;
            }
            call.check(id, &connection.bytes()[span])?;
        }
        Ok(())
    }

    /// Calls `count` times with up to 64 calls in flight.
    pub(super) fn parallel(&mut self, count: usize) -> Result<Duration, String> {
        let mut flight =
            Flight { slots: [(0, 0); SLOTS], to_send: count, to_come: count, loaded: Vec::new() };
        let mut readable = Vec::new();
        let begin = Instant::now();
        for slot in 0..SLOTS {
            self.depart(slot, &mut flight)?;
        }
        while flight.to_come > 0 {
            while let Some(index) = flight.loaded.pop() {
                self.target.connections[index].flush()?;
            }
            self.target.ready.wait(&mut readable)?;
            for &index in &readable {
                self.target.connections[index].fill()?;
                while let Some(slot) = self.arrive(index, &mut flight)? {
                    self.depart(slot, &mut flight)?;
                }
            }
        }
        Ok(begin.elapsed())
    }

    /// Calls once for a large answer and checks it byte by byte; returns its length.
    pub(super) fn large_checked(&mut self) -> Result<usize, String> {
        let call = advance(&mut self.calls, &mut self.next);
        let id = call::id(self.target.count, 0);
        self.target.count += 1;
        let connection = self.target.connection(call.group);
        let span = call::call_once(connection, call, id)?;
        let line = &connection.bytes()[span];
        call.check(id, line)?;
        Ok(line.len())
    }

    /// Calls once for a large answer of the given length.
    pub(super) fn large(&mut self, length: usize) -> Result<Duration, String> {
        let call = advance(&mut self.calls, &mut self.next);
        let id = call::id(self.target.count, 0);
        self.target.count += 1;
        let connection = self.target.connection(call.group);
        let begin = Instant::now();
        connection.send(call.request(id))?;
        let large = connection.large()?;
        let time = begin.elapsed();
        Call::check_large(id, &large, length)?;
        Ok(time)
    }

    /// Queues the next call, if there is one, in the free slot.
    fn depart(&mut self, slot: usize, flight: &mut Flight) -> Result<(), String> {
        if flight.to_send == 0 {
            return Ok(());
        }
        flight.to_send -= 1;
        let number = self.next;
        let id = call::id(self.target.count, slot);
        self.target.count += 1;
        let call = advance(&mut self.calls, &mut self.next);
        let connection = self.target.acquire(call.group)?;
        if self.target.connections[connection].queue(call.request(id)) {
            flight.loaded.push(connection);
        }
        flight.slots[slot] = (id, number);
        Ok(())
    }

    /// Takes the next answer at hand, checks it and returns its slot.
    fn arrive(&mut self, index: usize, flight: &mut Flight) -> Result<Option<usize>, String> {
        let connection = &mut self.target.connections[index];
        while let Some(span) = connection.line_at_hand()? {
            if connection.aside(span.clone())? {
                continue;
            }
            let id = connection.id(span.clone()).ok_or("an answer without a number for an id")?;
            let slot = call::slot(id);
            let (wanted, number) = std::mem::take(&mut flight.slots[slot]);
            if id != wanted {
                return Err(format!("an answer to {id}, which is not in flight"));
            }
            let call = &mut self.calls[number];
            call.check(id, &connection.bytes()[span])?;
            self.target.pool.release(call.group, index);
            flight.to_come -= 1;
            return Ok(Some(slot));
        }
        Ok(None)
    }
}

/// The calls in flight.
struct Flight {
    /// Id and number of the call in each slot.
    slots: [(u64, usize); SLOTS],
    to_send: usize,
    to_come: usize,
    /// Connections with calls that are not sent yet.
    loaded: Vec<usize>,
}

fn advance<'a>(calls: &'a mut [Call], next: &mut usize) -> &'a mut Call {
    let index = *next;
    *next = if index + 1 == calls.len() { 0 } else { index + 1 };
    &mut calls[index]
}
