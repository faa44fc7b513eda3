//! `admit`: one decision about a call at all the meters it counts on; `Permit`: what it holds until it ends.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use super::meter::{Meter, Taken, TooMuch, now};
use super::refused::{Limit, LimitScope};

/// The meters that a call counts on; those without a limit may be left out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meters<'a> {
    pub(crate) caller: Option<&'a Arc<Meter>>,
    pub(crate) server: Option<&'a Arc<Meter>>,
    pub(crate) tool: Option<&'a Arc<Meter>>,
    pub(crate) address: Option<&'a Arc<Meter>>,
}

const SCOPES: usize = 4;

/// An open call, as the meters count it: it ends when this is dropped.
// Boxed: every call carries one, and most have no limit; then it is a null pointer.
#[derive(Debug, Default)]
pub(crate) struct Permit(Option<Box<HeldMeters>>);

/// Those that have counted the call.
type HeldMeters = [Option<Arc<Meter>>; SCOPES];

/// Where the holder of a call keeps its permit. Not shared between threads, as the call itself.
#[derive(Default)]
pub(crate) struct PermitSlot(Cell<Permit>);

impl PermitSlot {
    pub(crate) fn set(&self, permit: Permit) {
        self.0.set(permit);
    }

    pub(crate) fn take(&self) -> Permit {
        self.0.take()
    }
}

impl fmt::Debug for PermitSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PermitSlot")
    }
}

/// Which meter has refused the call, and why.
#[derive(Clone, Debug)]
pub(crate) struct Exceeded {
    pub(crate) scope: LimitScope,
    pub(crate) limit: Limit,
    pub(crate) again: std::time::Duration,
    /// The limit in words.
    pub(crate) words: String,
}

impl<'a> Meters<'a> {
    /// In the order of the message that a caller finds most useful.
    fn limited(&self) -> [(LimitScope, Option<&'a Arc<Meter>>); SCOPES] {
        [
            (LimitScope::Caller, self.caller),
            (LimitScope::Server, self.server),
            (LimitScope::Tool, self.tool),
            (LimitScope::Address, self.address),
        ]
        .map(|(scope, meter)| (scope, meter.filter(|meter| meter.is_on())))
    }
}

/// Lets a call pass at all its meters, or at none: a call that one refuses costs nothing at the others.
pub(crate) fn admit(meters: Meters<'_>) -> Result<Permit, Box<Exceeded>> {
    let limited = meters.limited();
    if limited.iter().all(|(_, meter)| meter.is_none()) {
        return Ok(Permit::default());
    }
    admit_at(&limited, now())
}

fn admit_at(
    meters: &[(LimitScope, Option<&Arc<Meter>>); SCOPES],
    now: u64,
) -> Result<Permit, Box<Exceeded>> {
    let limited = meters.iter().filter_map(|(scope, meter)| Some((*scope, (*meter)?)));
    // All are looked at before anything is taken: nearly every refusal has nothing to give back.
    for (scope, meter) in limited.clone() {
        meter.check(now).map_err(|too_much| refuse(scope, meter, too_much))?;
    }
    let mut permit = Box::new(HeldMeters::default());
    let mut taken: [Option<Taken>; SCOPES] = [None; SCOPES];
    for ((scope, meter), (held, gone)) in limited.zip(permit.iter_mut().zip(&mut taken)) {
        match meter.take(now) {
            Ok(got) => {
                *gone = Some(got);
                *held = Some(Arc::clone(meter));
            }
            // Another thread was quicker.
            Err(too_much) => {
                for (meter, taken) in permit.iter().flatten().zip(taken.iter().flatten()) {
                    meter.give_back(*taken);
                }
                drop(Permit(Some(permit))); // it is not open there any more
                return Err(refuse(scope, meter, too_much));
            }
        }
    }
    Ok(Permit(Some(permit)))
}

#[cold]
fn refuse(scope: LimitScope, meter: &Meter, too_much: TooMuch) -> Box<Exceeded> {
    meter.count_refusal();
    let TooMuch { limit, again } = too_much;
    Box::new(Exceeded { scope, limit, again, words: meter.in_words(limit) })
}

impl Permit {
    /// The call has a result of so many bytes.
    pub(crate) fn charge(&self, bytes: usize) {
        self.held().for_each(|meter| meter.charge(bytes, now));
    }

    /// The call's caller has gone or does not want it any more, and its server may still be about it.
    pub(crate) fn abandon(mut self) {
        let held = self.0.take();
        held.iter().flat_map(|held| held.iter().flatten()).for_each(|meter| meter.abandon(now));
    }

    fn held(&self) -> impl Iterator<Item = &Arc<Meter>> {
        self.0.iter().flat_map(|held| held.iter().flatten())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.held().for_each(|meter| meter.release());
    }
}

#[cfg(test)]
mod tests {
    use trunkline_catalog::config::LimitRules;

    use super::*;

    fn meter(burst: u32, open_calls: Option<u32>) -> Arc<Meter> {
        let calls_per_second = Some(1);
        let burst = Some(burst);
        let rules = LimitRules { calls_per_second, burst, open_calls, ..LimitRules::default() };
        Arc::new(Meter::new(rules))
    }

    #[test]
    fn one_that_refuses_costs_nothing_at_the_others() {
        let (caller, server, tool) = (meter(3, None), meter(9, None), meter(9, Some(1)));
        let meters = Meters {
            caller: Some(&caller),
            server: Some(&server),
            tool: Some(&tool),
            address: None,
        };
        let held = admit(meters).unwrap();
        for _ in 0..5 {
            let refused = admit(meters).unwrap_err();
            assert_eq!((refused.scope, refused.limit), (LimitScope::Tool, Limit::OpenCalls));
        }
        assert_eq!((caller.open(), server.open(), tool.open()), (1, 1, 1));
        assert_eq!((tool.refused(), caller.refused()), (5, 0));
        drop(held);
        assert_eq!((caller.open(), server.open(), tool.open()), (0, 0, 0));
        drop([admit(meters).unwrap(), admit(Meters { tool: None, ..meters }).unwrap()]);
        let refused = admit(meters).unwrap_err();
        assert_eq!((refused.scope, refused.limit), (LimitScope::Caller, Limit::CallsPerSecond));
        assert_eq!(refused.words, "0.001 calls a second (3 at once)");
    }

    #[test]
    fn without_a_limit_nothing_is_held() {
        let free = Arc::new(Meter::default());
        let meters = Meters { caller: Some(&free), ..Meters::default() };
        let permit = admit(meters).unwrap();
        assert!(permit.0.is_none() && Arc::strong_count(&free) == 1);
    }

    #[test]
    fn results_are_charged_everywhere() {
        let budget = LimitRules { result_bytes_per_minute: Some(10), ..LimitRules::default() };
        let (caller, address) = (Arc::new(Meter::new(budget)), Arc::new(Meter::new(budget)));
        let meters = Meters { caller: Some(&caller), address: Some(&address), ..Meters::default() };
        admit(meters).unwrap().charge(1_000);
        assert_eq!(admit(meters).unwrap_err().limit, Limit::ResultBytes);
        let by_address = Meters { caller: None, ..meters };
        assert_eq!(admit(by_address).unwrap_err().scope, LimitScope::Address);
    }

    #[test]
    fn threads_leave_nothing_open_behind() {
        let (one, other) = (meter(1_000_000, Some(3)), meter(1_000_000, Some(2)));
        let meters = Meters { caller: Some(&one), server: Some(&other), ..Meters::default() };
        let let_in = std::sync::atomic::AtomicUsize::new(0);
        let many = || {
            let admitted = (0..2_000).filter(|_| admit(meters).is_ok()).count();
            let_in.fetch_add(admitted, std::sync::atomic::Ordering::Relaxed);
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(many))));
        assert_eq!((one.open(), other.open()), (0, 0));
        assert!(let_in.into_inner() > 0);
    }
}
