//! The built program, run as an operator runs it: in a directory of its own, on an SQLite file.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod after_failover;
mod audit;
#[cfg(unix)]
mod bench;
#[cfg(unix)]
mod board;
mod config;
mod database_server;
mod databases;
mod dead;
mod deploying;
mod digests;
mod directory;
mod doctor;
mod example_file;
mod exit_codes;
mod in_app;
#[cfg(unix)]
mod interfaces;
mod json;
#[cfg(unix)]
mod latency;
mod leases;
mod lists;
mod nats_stream;
mod notify;
mod operator;
mod otlp;
mod output;
#[cfg(unix)]
mod pause;
mod people;
#[cfg(unix)]
mod probes;
#[cfg(unix)]
mod producers;
#[cfg(unix)]
mod prometheus;
mod providers;
#[cfg(unix)]
mod publishing;
mod receipts;
mod recipients;
mod relay;
mod request;
mod resharding;
mod runs;
mod schema;
mod secrets;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod serve_killed;
mod server;
mod shell;
mod status;
mod templates;
#[cfg(target_os = "linux")]
mod terminal;
mod unsubscribe;
mod wakeups;
#[cfg(unix)]
mod web_client;
