//! Providers for the message pipeline.
