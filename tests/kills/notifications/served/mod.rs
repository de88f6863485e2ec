//! The same over HTTP: processes of `claimstream serve --relay` take the requests in, and deliver them to providers behind HTTP.

mod aftermath;
mod intake;
mod mail_course;
mod mailer;
mod member;
mod outage;
mod provider_server;
mod receipt_calls;
mod receipts_kept;
mod sinks;

pub(crate) use self::{
    aftermath::{Aftermath, Round},
    intake::{Accepted, Intake},
    mail_course::Fate,
    member::{Served, live},
    provider_server::ProviderServer,
};
