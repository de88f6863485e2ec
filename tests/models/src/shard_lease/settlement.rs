use super::{Fault, Hand, Holder, Process, Request, ShardLease, State, Step, Wish};

impl ShardLease {
    pub(super) fn settles(&self, state: &State, by: usize, hand: usize, steps: &mut Vec<(Step, State)>) {
        if state.processes[by].is_writing() {
            return;
        }
        let Some(request) = self.request(state, by, hand, Holder::Process(by)) else {
            let mut next = state.clone();
            let message = next.processes[by].hands[hand].take().map_or(0, |hand| hand.message);
            return steps.push((Step::Settles { process: by, message, accepted: false }, next));
        };
        if request.may_keep() {
            self.settles_so(state, by, hand, &Request { keeps: true, ..request.clone() }, steps);
        }
        self.settles_so(state, by, hand, &request, steps);
    }

    fn settles_so(
        &self,
        state: &State,
        by: usize,
        hand: usize,
        request: &Request,
        steps: &mut Vec<(Step, State)>,
    ) {
        let (message, mut next) = (request.message, state.clone());
        let accepted = self.meets(&mut next, request);
        if accepted && self.lost_answers {
            // It stays in the books, and may be sent again.
            let mut again = next.clone();
            again.processes[by].wants(hand, request.wish);
            steps.push((Step::SettlementUnanswered { process: by, message }, again));
        }
        if next.processes[by].holds(hand) {
            next.processes[by].flights[message] = None;
        }
        next.processes[by].hands[hand] = None;
        steps.push((Step::Settles { process: by, message, accepted }, next));
        if self.lost_answers && request.wish == Wish::Return {
            self.gives_back_in_the_books_alone(state, by, hand, message, steps);
        }
    }

    /// Messages that were not handed out go back although the store cannot be reached.
    fn gives_back_in_the_books_alone(
        &self,
        state: &State,
        by: usize,
        hand: usize,
        message: usize,
        steps: &mut Vec<(Step, State)>,
    ) {
        let mut next = state.clone();
        (next.processes[by].flights[message], next.processes[by].hands[hand]) = (None, None);
        steps.push((Step::GivesBackInTheBooksAlone { process: by, message }, next));
    }

    /// What a hand sends, if the books say that the message is still its own.
    fn request(&self, state: &State, by: usize, hand: usize, name: Holder) -> Option<Request> {
        let process = &state.processes[by];
        let Hand { message, overtaken, moved, wish } = process.hands[hand]?;
        if !process.holds(hand) && self.fault != Some(Fault::NotInTheBooks) {
            return None;
        }
        let mut left = process.in_flight();
        left[message] = false;
        Some(Request { message, overtaken, moved, wish, by: name, fence: process.fence, left, keeps: false })
    }

    /// It is started again under another name; one settlement may be on its way.
    pub(super) fn dies(&self, state: &State, process: usize, steps: &mut Vec<(Step, State)>) {
        if !self.deaths {
            return;
        }
        let mut next = state.clone();
        next.processes[process] = Process::started(self.messages);
        next.forget_name(process);
        let settles =
            |hand: &usize| state.processes[process].hands[*hand].is_some_and(|hand| hand.wish.settles());
        let free = state.late.is_none() && !state.processes[process].is_writing();
        for hand in (0..Process::HANDS).filter(|hand| free && settles(hand)) {
            if let Some(request) = self.request(state, process, hand, Holder::Dead) {
                let message = request.message;
                let sent = State { late: Some(request), ..next.clone() };
                steps.push((Step::DiesAfterSending { process, message }, sent));
            }
        }
        if next != *state {
            steps.push((Step::Dies { process }, next));
        }
    }

    pub(super) fn late_arrives(&self, state: &State, steps: &mut Vec<(Step, State)>) {
        if let Some(request) = &state.late {
            let mut next = state.clone();
            next.late = None;
            let accepted = self.meets(&mut next, request);
            steps.push((Step::ArrivesLate { message: request.message, accepted }, next));
        }
    }

    /// Whether the table takes it.
    fn meets(&self, state: &mut State, request: &Request) -> bool {
        let Request { message, wish, .. } = *request;
        let finds_free = !request.proves_alone() && self.fault.is_some_and(Fault::takes_what_is_free);
        let proven = state.table.row.is_proven(request.fence, request.by, finds_free);
        let is_there = !state.table.messages[message].ended
            && (!request.moved || wish == Wish::Return || self.fault == Some(Fault::FoundByIdAlone));
        if !(proven || self.fault == Some(Fault::NotFenced)) || !(is_there || wish == Wish::Return) {
            return false;
        }
        state.write(|table| table.settle(request));
        if wish == Wish::Retry {
            state.note(message, |hand| hand.moved = true, |late| late.moved = true);
        }
        true
    }
}

impl State {
    /// No process has the name of a dead one again.
    fn forget_name(&mut self, process: usize) {
        for table in std::iter::once(&mut self.table).chain(&mut self.before) {
            if table.row.holder == Holder::Process(process) {
                table.row.holder = Holder::Dead;
            }
        }
    }
}
