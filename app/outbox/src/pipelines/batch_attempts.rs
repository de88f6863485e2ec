use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use claimstream_domain::{Claimed, Verdict};
use claimstream_ports::BatchHandler;
use futures::{FutureExt, future::AbortHandle};

use super::{
    batch_call::{CallEnded, batch_call},
    future_set::FutureSet,
    time_limit::TimeLimit,
    verdict_box::{GivenVerdict, Slot, VerdictBox},
    work::{CutShort, EndedAttempt, ReasonSource, Work},
};
use crate::{
    concurrency::Places,
    in_flight::Ticket,
    report::{DeadLetterClass, LogLimit},
    settle::ClaimHandle,
    stream::{Batch, Claims, Linger},
};

/// The batches that a pipeline's handler is at.
///
/// A verdict counts when it is given. Messages that have none when a call ends are handed out again alone, one after another,
/// within the same attempt; what ends without a verdict alone has failed.
pub(crate) struct BatchAttempts {
    handler: Arc<dyn BatchHandler>,
    concurrency: usize,
    /// The most messages without a verdict.
    room: usize,
    linger: Linger,
    places: Places,
    futures: FutureSet<(u64, CallEnded)>,
    verdicts: Arc<VerdictBox>,
    /// By the number of the call that they are at, so the one that began first is the first.
    running: BTreeMap<u64, Running>,
    /// How many calls there have been.
    calls: u64,
    time_limit: TimeLimit,
    cut_short: CutShort,
    /// Of the lines about batches.
    limit: LogLimit,
}

/// One batch, and the call that is at it.
struct Running {
    messages: Arc<Vec<Claimed>>,
    /// In the order of the messages; `None` where the attempt has ended, or the claim is no longer ours.
    handles: Vec<Option<ClaimHandle>>,
    /// Those that the call is at.
    which: Range<usize>,
    /// Those that are to be handed out alone.
    alone: VecDeque<usize>,
    stop: AbortHandle,
    /// When the call began.
    began: Duration,
    /// When the call has to be over; `None` once it is being stopped.
    end: Option<Duration>,
    over_time: bool,
}

impl BatchAttempts {
    /// So many lines about batches are logged at once.
    const AT_ONCE: u32 = 10;

    pub(crate) fn new(
        handler: Arc<dyn BatchHandler>,
        (concurrency, room): (usize, usize),
        linger: Linger,
        places: Places,
        time_limit: TimeLimit,
    ) -> Self {
        Self {
            handler,
            concurrency,
            room,
            linger,
            places,
            futures: FutureSet::new(),
            verdicts: Arc::default(),
            running: BTreeMap::new(),
            calls: 0,
            time_limit,
            cut_short: CutShort::default(),
            limit: LogLimit::new(Self::AT_ONCE),
        }
    }

    fn start(&mut self, batch: Batch) {
        let (messages, handles) = batch.into_parts();
        let which = 0..messages.len();
        let handles = handles.into_iter().map(Some).collect();
        self.call(Arc::new(messages), handles, which, VecDeque::new());
    }

    fn call(
        &mut self,
        messages: Arc<Vec<Claimed>>,
        handles: Vec<Option<ClaimHandle>>,
        which: Range<usize>,
        alone: VecDeque<usize>,
    ) {
        let call = self.calls;
        self.calls += 1;
        let (stop, registration) = AbortHandle::new_pair();
        let verdicts = Slot { verdicts: Arc::clone(&self.verdicts), call, messages: which.len() };
        let (handler, batch) = (Arc::clone(&self.handler), Arc::clone(&messages));
        self.futures.push(batch_call(handler, batch, which.clone(), verdicts, registration).boxed());
        let (began, end) = self.time_limit.span();
        let running =
            Running { messages, handles, which, alone, stop, began, end: Some(end), over_time: false };
        self.running.insert(call, running);
    }

    /// Ends the attempts at messages on which verdicts were given.
    fn take_verdicts(&mut self, ended: &mut Vec<EndedAttempt>) -> bool {
        let given = self.verdicts.take();
        let any = !given.is_empty();
        for GivenVerdict { call, index, verdict } in given {
            let running = self.running.get_mut(&call);
            let began = running.as_ref().map(|running| running.began);
            let Some((handle, reason_source)) = running.and_then(|running| running.take(index)) else {
                tracing::debug!(
                    index,
                    "a verdict comes second, or on a message that is lost, and is ignored"
                );
                continue;
            };
            let class = DeadLetterClass::of(&verdict);
            ended.push(EndedAttempt { handle, class, verdict, reason_source, began });
        }
        any
    }

    /// Takes in the end of a call: what has no verdict is handed out alone, or has failed if it was alone.
    fn call_ended(&mut self, call: u64, how: CallEnded, ended: &mut Vec<EndedAttempt>) {
        let Some(mut running) = self.running.remove(&call) else { return };
        let without = running.without_verdict();
        self.cut_short.panicked += u64::from(matches!(how, CallEnded::Panicked(_)));
        if running.which.len() > 1 {
            self.note(&running, &how, without.len());
            running.alone.extend(without);
        } else if let Some((handle, reason_source)) = running.take(0) {
            let over_time = running.over_time.then_some(self.time_limit.limit());
            ended.push(failed((handle, reason_source), how, over_time, Some(running.began)));
        }
        self.hand_out_alone(running);
    }

    /// Logs that a handler came to no end with a batch, unless there have been many such lines of late.
    fn note(&mut self, running: &Running, how: &CallEnded, without: usize) {
        let how = match how {
            CallEnded::Panicked(_) => "panicked",
            CallEnded::Stopped if running.over_time => "took too long",
            CallEnded::Returned | CallEnded::Stopped => return,
        };
        let Some(unlogged) = self.limit.admit(self.time_limit.now()) else { return };
        let (of, unlogged) = (running.which.len(), unlogged.field());
        tracing::warn!(
            without,
            of,
            how,
            unlogged,
            "a batch handler failed; messages without a verdict come alone"
        );
    }

    fn hand_out_alone(&mut self, mut running: Running) {
        while let Some(next) = running.alone.pop_front() {
            if running.handles.get(next).is_some_and(Option::is_some) {
                let Running { messages, handles, alone, .. } = running;
                return self.call(messages, handles, next..next + 1, alone);
            }
        }
    }

    /// Stops the calls that have had all their time.
    fn poll_over_time(&mut self, cx: &mut Context<'_>) -> bool {
        let first = self.running.values().find_map(|running| running.end);
        let Poll::Ready(now) = self.time_limit.poll_over(cx, first) else { return false };
        for running in self.running.values_mut().filter(|running| running.end.is_some_and(|end| end <= now)) {
            running.over_time = true;
            running.stop();
            self.cut_short.timed_out += 1;
        }
        true
    }
}

impl Running {
    /// Takes the claim of a message that the call is at.
    fn take(&mut self, index: usize) -> Option<(ClaimHandle, ReasonSource)> {
        let index = self.which.start + index;
        let handle = self.handles.get_mut(index)?.take()?;
        Some((handle, ReasonSource::OneOf(Arc::clone(&self.messages), index)))
    }

    fn without_verdict(&self) -> Vec<usize> {
        self.which.clone().filter(|index| self.handles.get(*index).is_some_and(Option::is_some)).collect()
    }

    fn stop(&mut self) {
        self.end = None;
        self.stop.abort();
    }
}

/// An attempt at a message that was alone and got no verdict.
fn failed(
    (handle, reason_source): (ClaimHandle, ReasonSource),
    how: CallEnded,
    over_time: Option<Duration>,
    began: Option<Duration>,
) -> EndedAttempt {
    let (verdict, class, reason_source) = match (how, over_time) {
        (CallEnded::Panicked(verdict), _) => (verdict, DeadLetterClass::Panicked, reason_source),
        (_, Some(limit)) => {
            let verdict = Verdict::nack(format_args!("no verdict within {limit:?}"));
            (verdict, DeadLetterClass::TimedOut, ReasonSource::Nothing)
        }
        _ => (Verdict::nack("the handler gave no verdict"), DeadLetterClass::Failed, ReasonSource::Nothing),
    };
    EndedAttempt { handle, verdict, class, reason_source, began }
}

impl Work for BatchAttempts {
    fn poll_start(&mut self, cx: &mut Context<'_>, claims: &mut Claims) -> bool {
        let mut moved = false;
        while self.running.len() < self.concurrency {
            let own = self.room.saturating_sub(self.running());
            let room = if own == 0 { 0 } else { self.places.take(cx, own) };
            if room == 0 {
                return moved;
            }
            let next = claims.poll_batch(cx, &mut self.linger, room);
            let is_pending = next.is_pending();
            // An error is in the trace and the monitor shows it; it may be mended while the pipeline goes on.
            if let Poll::Ready(Ok(batch)) = next {
                self.start(batch);
            }
            self.places.keep(self.running());
            if is_pending {
                return moved;
            }
            moved = true;
        }
        moved
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>, ended: &mut Vec<EndedAttempt>) -> bool {
        let mut moved = false;
        self.verdicts.rest();
        self.futures.begin_round();
        while let Poll::Ready((call, how)) = self.futures.poll_done(cx) {
            self.take_verdicts(ended);
            self.call_ended(call, how, ended);
            moved = true;
        }
        self.verdicts.watch(cx.waker());
        // A verdict that is given counts, also in the moment in which the time is up.
        moved |= self.take_verdicts(ended);
        self.places.keep(self.running());
        moved | self.poll_over_time(cx)
    }

    fn start_no_more(&mut self) {
        self.places.stop();
    }

    fn stop(&mut self, ticket: Ticket) -> Option<ClaimHandle> {
        let is_it = |handle: &Option<ClaimHandle>| handle.as_ref().is_some_and(|it| it.ticket() == ticket);
        let running = self.running.values_mut().find(|running| running.handles.iter().any(is_it))?;
        let index = running.handles.iter().position(is_it)?;
        let handle = running.handles.get_mut(index)?.take();
        if running.which.contains(&index) && running.without_verdict().is_empty() {
            running.stop();
        }
        handle
    }

    fn stop_all(&mut self, ended: &mut Vec<EndedAttempt>) -> Vec<ClaimHandle> {
        self.futures.clear();
        // A handler may give verdicts as it is dropped, or has given them on another thread in this moment.
        self.take_verdicts(ended);
        self.places.keep(0);
        let running = std::mem::take(&mut self.running).into_values();
        running.flat_map(|running| running.handles).flatten().collect()
    }

    fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    fn running(&self) -> usize {
        self.running.values().flat_map(|running| &running.handles).flatten().count()
    }

    fn cut_short(&self) -> CutShort {
        self.cut_short
    }
}
