//! The code of docs/order.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use claimstream::{Compose, NewMessage};
use claimstream_sea_orm::OpenOptions;

use super::Failure;

#[derive(serde::Serialize)]
struct Booked {
    account: u32,
}

fn message() -> Result<NewMessage, Failure> {
    let message = NewMessage::json("accounts", &Booked { account: 7 })?.ordered_by("account-7".parse()?);
    Ok(message)
}

fn options() -> Result<OpenOptions, Failure> {
    let options =
        OpenOptions { strategy: "shard_lease".parse()?, order: "per_key".parse()?, ..OpenOptions::default() };
    Ok(options)
}
