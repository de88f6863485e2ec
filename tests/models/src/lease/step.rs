use std::fmt;

use claimstream_domain::Event;

use super::{Request, Wish};

/// Something that happens to a message or a worker.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their display says what they are")]
pub enum Step {
    TimePasses { message: usize, leased: bool },
    Claims { worker: usize, message: usize, attempt: u8 },
    ClaimUnanswered { worker: usize, message: usize },
    Begins { worker: usize, message: usize },
    Renews { worker: usize, message: usize },
    Excuses { worker: usize, message: usize },
    Decides { worker: usize, message: usize, event: Event },
    Answered { worker: usize, request: Request, accepted: bool },
    Unanswered { worker: usize, request: Request, accepted: bool },
    Dies { worker: usize },
    DiesAfterSending { worker: usize, request: Request },
    ArrivesLate { request: Request, accepted: bool, again: bool },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = |accepted: &bool| if *accepted { "accepted" } else { "refused" };
        match self {
            Self::TimePasses { message, leased: true } => {
                write!(f, "the lease of message {message} runs out")
            }
            Self::TimePasses { message, leased: false } => {
                write!(f, "message {message} has waited long enough for its next attempt")
            }
            Self::Claims { worker, message, attempt } => {
                write!(f, "worker {worker} claims message {message}, attempt {attempt}")
            }
            Self::ClaimUnanswered { worker, message } => {
                write!(f, "worker {worker} claims message {message}, and the answer is lost")
            }
            Self::Begins { worker, message } => {
                write!(f, "worker {worker} begins to handle message {message}")
            }
            Self::Renews { worker, message } => write!(f, "worker {worker} renews message {message}"),
            Self::Excuses { worker, message } => {
                write!(f, "worker {worker} finds the table too slow for its lease of message {message}")
            }
            Self::Decides { worker, message, event } => {
                write!(f, "worker {worker} wants to {event:?} message {message}")
            }
            Self::Answered { worker, request, accepted } => {
                write!(f, "worker {worker}'s {request} is {}", outcome(accepted))
            }
            Self::Unanswered { worker, request, accepted } => {
                write!(f, "worker {worker}'s {request} is {}, and the answer is lost", outcome(accepted))
            }
            Self::Dies { worker } => write!(f, "worker {worker} dies and is started again"),
            Self::DiesAfterSending { worker, request } => {
                write!(f, "worker {worker} sends its {request} and dies; it is on its way")
            }
            Self::ArrivesLate { request, accepted, again } => {
                let rest = if *again { ", and will arrive again" } else { "" };
                write!(f, "the {request} of a dead worker arrives and is {}{rest}", outcome(accepted))
            }
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wish {
            Wish::Renew => write!(f, "renewal of message {}", self.message),
            Wish::Settle(event) => write!(f, "{event:?} of message {}", self.message),
        }
    }
}
