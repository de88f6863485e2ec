//! The strategy `shard_lease`: whole shards are leased, and messages need no write of their own to be claimed.
//!
//! Each shard of a queue has one lease row: holder, fence, end, and the messages in flight. A claim reads the next due messages
//! without a lock, notes them in the lease row, and hands them out once that one write has proven the fence; the messages that
//! it was not asked for wait for the claims that follow. A settlement proves the fence in the transaction that ends the
//! messages, and frees the shard with the last of them. An instance that finds an expired lease counts an attempt for each
//! message in flight and takes the shard over under the next fence.

mod claim;
mod flow;
mod give_back;
mod in_flight;
pub(crate) mod in_flight_list;
pub(crate) mod lease;
pub(crate) mod leases;
mod owned_shards;
mod port;
mod read_ahead;
mod settle;
pub(crate) mod shard_key;
mod shard_state;
mod suspect;
mod thin_load;
mod turn;
mod turns;
mod watermark;
