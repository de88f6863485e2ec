//! The code of docs/wakeups.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use super::Failure;

fn binlog(relay: claimstream::Relay) -> Result<(), Failure> {
    use std::sync::Arc;

    use claimstream::LocalWakeup;

    use claimstream_binlog::{BinlogPlace, BinlogWakeup};

    let place = BinlogPlace::new("mysql://shop:secret@db.example.com:3306/shop")?;
    let wakeup = Arc::new(BinlogWakeup::new(place, Arc::new(LocalWakeup::new())));
    let relay = relay.with_wakeup(wakeup.clone());
    drop(relay);
    Ok(())
}
