use super::{Fault, Hand, Holder, MAX_ATTEMPTS, ShardLease, State, Step, Wish};

impl ShardLease {
    pub(super) fn takes_over(&self, state: &State, by: usize, steps: &mut Vec<(Step, State)>) {
        let row = &state.table.row;
        if !row.over || row.holder == Holder::Process(by) || state.processes[by].is_writing() {
            return;
        }
        let mut next = state.clone();
        next.write(|table| table.end_lease(self.fault != Some(Fault::NotCharged)));
        next.processes[by].lose();
        next.processes[by].fence = next.table.row.fence;
        steps.push((Step::TakesOver { process: by }, next));
    }

    /// Reads a message without a lock, and notes what it is about to write.
    pub(super) fn reads(&self, state: &State, by: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        let row = &state.table.row;
        if !row.admits(Holder::Process(by)) || state.processes[by].is_writing() {
            return;
        }
        let mut agreed = state.clone();
        let waits = self.fault != Some(Fault::WaitsForItsFence);
        agreed.went_back |= agreed.processes[by].agrees(row.fence, waits);
        if agreed.processes[by].fence != row.fence {
            if agreed.processes[by].fence < row.fence {
                agreed.processes[by].lose();
                steps.push((Step::Loses { process: by }, agreed));
            }
            return;
        }
        let free = !row.flights.contains(&true);
        for message in 0..state.table.messages.len() {
            let flies = state.processes[by].flights[message].is_some_and(|flight| !flight.lapsed);
            if !state.table.messages[message].ended && !flies {
                let mut next = agreed.clone();
                next.processes[by].hands[hand] = Some(Hand::on(message, Wish::Take { free }));
                steps.push((Step::Reads { process: by, message }, next));
            }
        }
    }

    /// Writes the lease row, and hands the message out only then.
    pub(super) fn takes(&self, state: &State, by: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        let Some(Hand { message, wish: Wish::Take { free }, .. }) = state.processes[by].hands[hand] else {
            return;
        };
        let mut next = state.clone();
        match self.writes_claim(&mut next, by, message, free) {
            None => {
                next.processes[by].hands[hand] = None;
                next.processes[by].lose();
                steps.push((Step::TakesNothing { process: by, message }, next));
            }
            Some((fence, attempt)) => {
                if self.lost_answers {
                    let mut unanswered = next.clone();
                    unanswered.processes[by].hands[hand] = None;
                    steps.push((Step::TakeUnanswered { process: by, message }, unanswered));
                }
                next.hands_out(by, hand, message, attempt);
                next.processes[by].fence = fence;
                steps.push((Step::Takes { process: by, message, attempt }, next));
            }
        }
        if self.lost_answers {
            self.fails_to_take(state, by, hand, message, steps);
        }
    }

    /// Nothing is written, and no answer says so.
    fn fails_to_take(
        &self,
        state: &State,
        by: usize,
        hand: usize,
        message: usize,
        steps: &mut Vec<(Step, State)>,
    ) {
        let mut next = state.clone();
        next.processes[by].hands[hand] = None;
        if self.fault == Some(Fault::HandedOutUnwritten) {
            let attempt = next.table.messages[message].attempts + 1;
            next.hands_out(by, hand, message, attempt);
        }
        steps.push((Step::TakeFails { process: by, message }, next));
    }

    /// Notes a message in the row under the fence that the process knows; answers the new fence and which attempt it is. What
    /// was free when it was read gets a new fence, and so does what the process has nothing in flight of.
    fn writes_claim(&self, state: &mut State, by: usize, message: usize, free: bool) -> Option<(i8, u8)> {
        let process = &state.processes[by];
        let has_nothing = process.flights.iter().all(Option::is_none);
        let begins = match self.fault {
            Some(Fault::SameFence) => false,
            Some(Fault::FenceOfTheBooks) => has_nothing,
            Some(Fault::KeptFence) => state.table.row.holder != Holder::Process(by) && (has_nothing || free),
            _ => has_nothing || free,
        };
        let finds_free = begins || self.fault.is_some_and(Fault::takes_what_is_free);
        if !state.table.row.is_proven(process.fence, Holder::Process(by), finds_free) {
            return None;
        }
        let lapsed = process.flights[message].is_some() && self.fault != Some(Fault::NotCountedAtHome);
        let mut flights = process.in_flight();
        flights[message] = true;
        state.write(|table| table.take(by, message, begins, lapsed, flights));
        Some((state.table.row.fence, state.table.messages[message].attempts + 1))
    }

    /// Extends a claim that is the newest, whether it has run out or not.
    pub(super) fn renews(&self, state: &State, by: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        let process = &state.processes[by];
        if process.is_writing() || !process.holds(hand) {
            return;
        }
        let mut next = state.clone();
        let finds_free = self.fault.is_some_and(Fault::takes_what_is_free);
        if state.table.row.is_proven(process.fence, Holder::Process(by), finds_free) {
            next.write(|table| table.extend(by, process.in_flight()));
            next.processes[by]
                .flights
                .iter_mut()
                .flatten()
                .filter(|f| f.hand == hand)
                .for_each(|f| f.lapsed = false);
        } else {
            next.processes[by].lose();
        }
        if next != *state {
            steps.push((Step::Renews { process: by, hand }, next));
        }
    }
}

impl State {
    fn hands_out(&mut self, by: usize, hand: usize, message: usize, attempt: u8) {
        self.note(message, |hand| hand.overtaken = true, |late| late.overtaken = true);
        self.table.messages[message].raised |= self.table.messages[message].ended;
        let wish = if attempt > MAX_ATTEMPTS { Wish::Done } else { Wish::Begin };
        self.processes[by].fly(message, hand, wish);
    }
}
