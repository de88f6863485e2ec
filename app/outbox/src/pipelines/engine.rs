mod end;
mod start;

use std::{
    collections::{BTreeMap, HashSet},
    mem,
    sync::Arc,
    task::{Context, Poll},
};

use claimstream_ports::{BatchHandler, Handler};

use super::{
    call::Call, ended_attempt::EndedAttempt, future_set::FutureSet, handler_call::EndedCall,
    time_limit::TimeLimit, verdict_box::VerdictBox,
};
use crate::{
    concurrency::Places,
    in_flight::Ticket,
    report::LogLimit,
    settle::ClaimHandle,
    setup::Setup,
    stream::{Claims, Linger},
};

/// Calls a pipeline's handler with the messages of a stream, and reports which attempts have ended.
///
/// A handler of batches gives a verdict on each message, which counts when it is given. Messages that have none when a call ends are
/// handed out again alone, one after another, within the same attempt; what ends without a verdict alone has failed.
pub(crate) struct Engine {
    handlers: Handlers,
    /// The most calls at a time.
    concurrency: usize,
    /// The most messages without a verdict.
    room: usize,
    time_limit: TimeLimit,
    /// Dropped before the places, which they use.
    futures: FutureSet<EndedCall>,
    /// Those on messages of batches.
    verdicts: Arc<VerdictBox>,
    /// Calls that have not ended, by number, so the one that began first is the first.
    calls: BTreeMap<u64, Call>,
    places: Places,
    /// The number of the next call.
    next: u64,
    /// How many attempts have begun and not ended.
    in_flight: usize,
    cut_short: CutShort,
    /// Of the lines about batches.
    limit: LogLimit,
}

/// What handles the messages of a pipeline.
pub(crate) enum Handlers {
    /// A call for each message, which returns its verdict.
    One(Arc<dyn Handler>),
    /// A call for messages that were claimed together, which gives a verdict on each.
    Batch(Arc<dyn BatchHandler>, Linger),
}

/// Handlers that came to no end of their own.
#[derive(Clone, Copy, Default)]
pub(crate) struct CutShort {
    pub(crate) panicked: u64,
    pub(crate) timed_out: u64,
}

impl Engine {
    /// So many lines about batches are logged at once.
    const AT_ONCE: u32 = 10;

    pub(crate) fn new(handlers: Handlers, (concurrency, room): (usize, usize), setup: &Setup) -> Self {
        Self {
            handlers,
            concurrency,
            room,
            places: Places::of(setup.share.clone()),
            time_limit: TimeLimit::new(Arc::clone(&setup.timer), setup.config.handle_timeout),
            futures: FutureSet::new(),
            verdicts: Arc::default(),
            calls: BTreeMap::new(),
            next: 0,
            in_flight: 0,
            cut_short: CutShort::default(),
            limit: LogLimit::new(Self::AT_ONCE),
        }
    }

    /// Takes messages from the stream as long as there is room, and says whether anything was done.
    pub(crate) fn poll_start(&mut self, cx: &mut Context<'_>, claims: &mut Claims) -> bool {
        let mut moved = false;
        while self.futures.len() < self.concurrency {
            let own = match self.handlers {
                Handlers::One(_) => 1,
                Handlers::Batch(..) => self.room.saturating_sub(self.in_flight),
            };
            let room = if own == 0 { 0 } else { self.places.take(cx, own) };
            if room == 0 {
                return moved;
            }
            let started = self.poll_next(cx, claims, room);
            self.places.keep(self.places_in_use());
            if started.is_pending() {
                return moved;
            }
            moved = true;
        }
        moved
    }

    /// Drives the handlers and adds the attempts that have ended; says whether anything was done.
    pub(crate) fn poll_ended(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool {
        let mut moved = false;
        self.verdicts.rest();
        self.futures.begin_round();
        while let Poll::Ready(call) = self.futures.poll_done(cx) {
            self.take_verdicts(ended);
            self.call_ended(call, ended);
            moved = true;
        }
        self.verdicts.watch(cx.waker());
        // A verdict that is given counts, also in the moment in which the time is up.
        moved |= self.take_verdicts(ended);
        self.places.keep(self.places_in_use());
        moved | self.poll_timeouts(cx, ended)
    }

    /// Takes no more messages from the stream.
    pub(crate) fn start_no_more(&mut self) {
        self.places.stop();
    }

    /// Takes the claims of messages that are no longer ours from the attempts at them.
    ///
    /// It looks at all that is in flight, once for each list, as did the look that found them lost.
    pub(crate) fn lose(&mut self, lost: &[Ticket]) -> Vec<ClaimHandle> {
        let lost: HashSet<_> = lost.iter().collect();
        let is_lost = |handle: &ClaimHandle| lost.contains(&handle.ticket());
        let mut handles = Vec::new();
        let of_one = self.calls.extract_if(.., |_, call| call.lose(is_lost, &mut handles));
        let of_one: Vec<_> = of_one.map(|(_, call)| call).collect();
        handles.extend(of_one.into_iter().flat_map(Call::into_handles));
        self.in_flight -= handles.len();
        handles
    }

    /// Drops all handlers and adds the attempts that have ended with that; the claims are those of attempts that have not ended.
    pub(crate) fn stop_all(&mut self, ended: &mut Vec<EndedAttempt>) -> Vec<ClaimHandle> {
        self.futures.clear();
        // A handler may give verdicts as it is dropped, or has given them on another thread in this moment.
        self.take_verdicts(ended);
        self.places.keep(0);
        self.in_flight = 0;
        mem::take(&mut self.calls).into_values().flat_map(Call::into_handles).collect()
    }

    /// Whether no handler runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    /// How many attempts have begun and not ended.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How many handlers were stopped or have panicked.
    pub(crate) fn cut_short(&self) -> CutShort {
        self.cut_short
    }

    /// A handler of one message keeps its place until it is dropped; a message of a batch leaves it with its verdict.
    fn places_in_use(&self) -> usize {
        match self.handlers {
            Handlers::One(_) => self.futures.len(),
            Handlers::Batch(..) => self.in_flight,
        }
    }
}
