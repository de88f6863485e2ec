//! What operators meet: openings, plans of the schema, rights, errors with the way out, mixed strategies, and the view of the
//! outbox.

pub mod capabilities;
pub mod error_kinds;
pub mod new_shards;
pub mod openings;
pub mod operators_reads;
pub mod outbox_view;
pub mod resharding;
pub mod rights;
pub mod schema_plans;
pub mod server_defaults;
pub mod set_back_clocks;
pub mod strategies;
pub mod telemetry;
