//! The providers against real sockets and files on this machine.
#![forbid(unsafe_code)]

#[cfg(test)]
mod answers;
#[cfg(test)]
#[cfg(all(feature = "smtp", feature = "webhook"))]
mod attachments;
#[cfg(test)]
#[cfg(all(feature = "smtp", feature = "webhook"))]
mod directory;
#[cfg(test)]
#[cfg(all(feature = "gateway", feature = "smtp"))]
mod faults;
#[cfg(test)]
#[cfg(feature = "gateway")]
mod gateway_files;
#[cfg(test)]
mod log;
#[cfg(feature = "smtp")]
mod mail_server;
mod message;
#[cfg(test)]
#[cfg(feature = "webhook")]
mod participant;
#[cfg(test)]
#[cfg(feature = "webhook")]
mod reach;
#[cfg(test)]
#[cfg(feature = "smtp")]
mod smtp;
#[cfg(test)]
#[cfg(feature = "webhook")]
mod tcc;
#[cfg(test)]
#[cfg(feature = "webhook")]
mod templates;
#[cfg(feature = "webhook")]
mod web_server;
#[cfg(test)]
#[cfg(feature = "webhook")]
mod webhook;
