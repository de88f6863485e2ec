//! The code of docs/locks.md.
#![allow(dead_code, reason = "it is here to be compiled")]

use super::Failure;

async fn claims(outbox: std::sync::Arc<claimstream_sea_orm::SeaOrmOutbox>) -> Result<(), Failure> {
    use std::sync::Arc;

    use claimstream::{LockGuarded, Relay, RelayConfig};
    use claimstream_redis::{RedisLock, RedisPlace};
    use claimstream_tokio::TokioTimer;

    let lock = Arc::new(RedisLock::new(RedisPlace::new("redis://cache.example.com:6379/0")?));
    let strategy = Arc::new(LockGuarded::new(outbox.clone(), lock).of_database("shop"));
    let relay = Relay::from_ports(strategy, outbox, Arc::new(TokioTimer::new()), RelayConfig::default());
    wakeups(relay)
}

async fn write_report(_: u64) -> Result<(), Failure> {
    Ok(())
}

async fn report(lock: &dyn claimstream::DistributedLock) -> Result<(), Failure> {
    use claimstream::Lease;

    let Some(guard) = lock.try_acquire("report/2026-11", Lease::default()).await? else {
        return Ok(());
    };
    write_report(guard.fence).await?;
    lock.release(guard).await?;
    Ok(())
}

fn wakeups(relay: claimstream::Relay) -> Result<(), Failure> {
    use std::sync::Arc;

    use claimstream_redis::RedisPlace;

    use claimstream_redis::RedisWakeup;

    let wakeup = Arc::new(RedisWakeup::new(RedisPlace::new("redis://cache.example.com:6379/0")?));
    let relay = relay.with_wakeup(wakeup.clone());
    drop(relay);
    Ok(())
}
