use std::time::Duration;

use claimstream_domain::{Invalid, notification::AddressRule};

use crate::timeouts;

/// Within which bounds the files of a message are fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttachmentConfig {
    /// The longest file, 10 MiB by default.
    pub max_bytes: usize,
    /// How long the files of a message are together at most, 20 MiB by default. A mail is a third longer.
    pub max_bytes_in_all: usize,
    /// Whether files are fetched without encryption as well; they are not by default.
    pub plain_http: bool,
    /// Which addresses their URLs may lead to, public ones by default.
    pub reach: AddressRule,
    /// Whether the proxies of the environment are used where `reach` opens private networks; by default they are.
    pub environment_proxies: bool,
    /// How long a connection may take, 5 s by default.
    pub connect_timeout: Duration,
    /// How long the files of a message may take in all, 15 s by default.
    pub timeout: Duration,
    /// How much memory files may take that are kept for the next messages, 64 MiB by default. Each is kept for five minutes at most.
    pub cache_bytes: usize,
}

impl AttachmentConfig {
    /// Refuses timeouts of nothing, and a file that is longer than all may be.
    pub fn check(&self) -> Result<(), Invalid> {
        timeouts::check("attachment timeout", self.connect_timeout, self.timeout)?;
        if self.max_bytes > self.max_bytes_in_all {
            return Err(Invalid::Contradiction(format!(
                "one attachment may have {} bytes, and all of a message {}; let all have at least as many",
                self.max_bytes, self.max_bytes_in_all
            )));
        }
        Ok(())
    }
}

impl Default for AttachmentConfig {
    fn default() -> Self {
        Self {
            max_bytes: 10 * 1024 * 1024,
            max_bytes_in_all: 20 * 1024 * 1024,
            plain_http: false,
            reach: AddressRule::default(),
            environment_proxies: true,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(15),
            cache_bytes: 64 * 1024 * 1024,
        }
    }
}
