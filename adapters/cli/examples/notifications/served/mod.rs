//! The same over HTTP: processes of `claimstream serve --relay` take the requests in, and deliver them to providers behind HTTP.

mod intake;
mod member;
mod outage;
mod provider_server;

pub(crate) use self::{
    intake::{Accepted, Intake},
    member::{Served, live},
    provider_server::ProviderServer,
};
