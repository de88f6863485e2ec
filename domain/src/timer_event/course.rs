use std::time::Duration;

use super::EventStatus;

/// What a tick does with its event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Course {
    /// Run the decisions that have not succeeded yet.
    Run,
    /// Run nothing: the deadline has passed.
    TimeOut,
    /// Run nothing: the event is over. The timer may still have to move on.
    Complete,
}

/// The one rule that says what a tick does: an event that is over stays as it is, and one that was begun `since` ago or
/// longer than its `deadline` allows is not run any more.
///
/// The deadline itself is too late: a tick that comes exactly then times the event out.
pub fn course(status: EventStatus, since: Duration, deadline: Duration) -> Course {
    match status {
        EventStatus::Success | EventStatus::Timeout => Course::Complete,
        EventStatus::Init if since >= deadline => Course::TimeOut,
        EventStatus::Init => Course::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_event_runs_until_its_deadline_and_one_that_is_over_never() {
        let deadline = Duration::from_secs(300);
        let at = |status, seconds| course(status, Duration::from_secs(seconds), deadline);
        assert_eq!([0, 299, 300, 301].map(|s| at(EventStatus::Init, s)), {
            use Course::*;
            [Run, Run, TimeOut, TimeOut]
        });
        for status in [EventStatus::Success, EventStatus::Timeout] {
            assert_eq!([0, 300, 9_999].map(|s| at(status, s)), [Course::Complete; 3]);
        }
    }
}
