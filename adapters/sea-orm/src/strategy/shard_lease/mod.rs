//! The strategy `shard_lease`: whole shards are leased, and messages need no write of their own to be claimed.
//!
//! Each shard of a queue has one lease row: holder, fence, end, and what is in flight. A claim reads the next due
//! messages without a lock, notes them in the lease row, and hands them out once that one write has proven the fence; what
//! was not asked for waits for the claims that follow. A settlement proves the fence in the transaction that ends the
//! messages, and frees the shard with the last of them. Who finds a lease that has run out counts an attempt for what was
//! in flight and goes on under the next fence.

mod claiming;
mod due;
mod give_back;
pub(crate) mod in_flight_ids;
mod lease_row;
pub(crate) mod leases;
mod owned_shards;
mod pick;
mod port;
mod read_ahead;
mod settle;
mod shard_state;
mod suspect;
mod waiting_keys;
