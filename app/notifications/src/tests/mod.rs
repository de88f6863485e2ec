mod a1_9;
mod batches;
mod consents;
mod crashes;
mod digests;
mod finish;
mod fixture;
mod messages;
mod panics;
mod ports;
mod request_failures;
mod requests;
mod restoring;
mod suppressing;
mod world;

pub(super) use finish::{finish, step};
