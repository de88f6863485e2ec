//! Servers, networks and disks that fail while an outbox is at work, and what is there afterwards.

pub mod failover;
pub mod lost_notes;
pub mod missing_table;
pub mod outages;
pub mod passing_errors;
pub mod set_back;
pub mod several_servers;
