//! The servers, scratch databases, statements and loads that the suite and the bench share, so that the bench builds
//! without the suite.
#![forbid(unsafe_code)]

mod cluster;
mod cluster_kind;
mod eventually;
pub mod flows;
mod forwarder;
mod lock_wait;
mod many_queues;
mod nodes;
mod page_table;
mod private_broker;
mod private_database;
mod private_redis;
mod private_server;
mod scratch_database;
mod server_process;
pub mod servers;
pub mod statement;
mod test_folder;
pub mod work;

pub use cluster::Cluster;
pub use cluster_kind::{CLUSTERS, ClusterKind, Keeps, Writers};
pub use eventually::{eventually, eventually_some};
pub use forwarder::{Forwarder, Mishap};
pub use lock_wait::statement_waits;
pub use many_queues::Load;
pub use nodes::Nodes;
pub use page_table::replace_table;
pub use private_broker::{PrivateBroker, known_broker};
pub use private_database::PrivateDatabase;
pub use private_redis::PrivateRedis;
pub use private_server::PrivateServer;
pub use scratch_database::ScratchDatabase;
pub use server_process::ServerProcess;
pub use servers::Server;
pub use test_folder::test_folder;
