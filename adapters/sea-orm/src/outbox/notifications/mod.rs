//! The ports of notifications.

mod attempts;
mod in_app;
mod people;
mod preferences;
mod receipts;
mod remains;
mod requests;
mod templates;
