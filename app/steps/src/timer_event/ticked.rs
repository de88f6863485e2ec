use std::time::Duration;

use claimstream_domain::{
    Reason, Timestamp, Verdict,
    timer_event::{DecisionName, EventStatus},
};

/// What one tick came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ticked {
    /// Every decision has succeeded, the event has ended, and the timer has moved on.
    Succeeded {
        /// The next occurrence, if there is one.
        next: Option<Timestamp>,
    },
    /// Decisions failed; nothing else has changed.
    Failed {
        /// Which, and why.
        decisions: Vec<(DecisionName, Reason)>,
    },
    /// Another run has the event's row; nothing was run any further.
    Busy,
    /// The deadline had passed: the alarm is raised and the timer has moved on.
    TimedOut {
        /// The next occurrence, if there is one.
        next: Option<Timestamp>,
        /// Why the hook has not succeeded yet, if it has not.
        hook: Option<Reason>,
    },
    /// The event was over already; the timer has moved on.
    Complete {
        /// How it ended.
        status: EventStatus,
        /// Why the hook of its timeout has not succeeded yet, if it has not.
        hook: Option<Reason>,
    },
    /// Another program succeeded with the event and does not have these decisions: two programs share the name of a scheme in one
    /// database. Nothing was run.
    Foreign {
        /// Those of this program that were not made.
        decisions: Vec<DecisionName>,
    },
    /// Another process ended the event during this run, whose last write was refused. Its message comes again at once, to find the event
    /// [complete](Self::Complete).
    Overtaken,
    /// The occurrence is not in the schedule any more and the event was never begun; the timer has moved on.
    Stale,
}

impl Ticked {
    /// The next state of the timer's message.
    pub(super) fn verdict(self, retry_every: Duration) -> Verdict {
        let again = |reason| Verdict::Nack { after: Some(retry_every), reason };
        match self {
            Self::Failed { decisions } => again(failures(&decisions)),
            Self::Busy => again(Reason::new("busy: another run has locked the event's row")),
            Self::TimedOut { hook: Some(why), .. } | Self::Complete { hook: Some(why), .. } => {
                again(Reason::new(format_args!("hook: {why}")))
            }
            Self::Foreign { decisions } => {
                let names: Vec<_> = decisions.iter().map(DecisionName::to_string).collect();
                Verdict::bury(format_args!(
                    "another program has a scheme of this name in this database and ended its event without {}; give each scheme a \
                     name of its own, such as one that begins with the service's",
                    names.join(", ")
                ))
            }
            // Who ended the event may have died before its hook, and every other message of the event may have been overtaken too.
            Self::Overtaken => Verdict::Release,
            Self::Succeeded { .. } | Self::TimedOut { .. } | Self::Complete { .. } | Self::Stale => {
                Verdict::ack()
            }
        }
    }
}

fn failures(decisions: &[(DecisionName, Reason)]) -> Reason {
    let each: Vec<_> = decisions.iter().map(|(name, why)| format!("decision {name}: {why}")).collect();
    Reason::new(each.join("; "))
}
