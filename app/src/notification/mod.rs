//! The two notification pipelines: requests into messages, messages to providers.
