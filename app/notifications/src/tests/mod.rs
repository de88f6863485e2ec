mod crashes;
mod finish;
mod fixture;
mod messages;
mod requests;
mod world;

pub(super) use finish::finish;
