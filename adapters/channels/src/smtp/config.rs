use std::time::Duration;

use claimstream_domain::{
    Invalid,
    notification::{AnswerTable, consent::respelled},
};
use lettre::message::Mailbox;

use super::server::SmtpServer;
use crate::{AttachmentConfig, Secret, timeouts};

/// Through which server mails are sent, and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SmtpConfig {
    /// The server.
    pub server: SmtpServer,
    /// The sender, such as `Shop <no-reply@shop.example>`.
    pub from: String,
    /// User and password; none unless given.
    pub credentials: Option<SmtpCredentials>,
    /// The name to greet the server with; the host's own unless given.
    pub hello: Option<String>,
    /// How long a connection may take, 5 s by default.
    pub connect_timeout: Duration,
    /// How long a delivery may take until the mail itself is sent, 30 s by default. The files that go with it come before, within a time of
    /// their own.
    pub timeout: Duration,
    /// How long the mail itself and the answer to it may take, 9 minutes by default. RFC 5321, section 4.5.3.2.6, asks for 10, because a mail whose
    /// answer is not waited for is sent again; a relay's handlers end after 10 unless set otherwise.
    pub end_timeout: Duration,
    /// What replies mean that mean something else than [usual](AnswerTable::smtp).
    pub answers: AnswerTable,
    /// How the files that go with a mail are fetched.
    pub attachments: AttachmentConfig,
}

/// A user of an SMTP server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SmtpCredentials {
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: Secret,
}

impl SmtpConfig {
    /// Mails from `from` through `server`, without credentials and with the default timeouts.
    pub fn new(server: SmtpServer, from: &str) -> Self {
        Self {
            server,
            from: from.to_owned(),
            credentials: None,
            hello: None,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(30),
            end_timeout: Duration::from_secs(540),
            answers: AnswerTable::default(),
            attachments: AttachmentConfig::default(),
        }
    }

    /// Refuses a sender that is no address, timeouts of nothing, a password that would travel in the clear, and
    /// encryption that this build cannot speak.
    pub fn check(&self) -> Result<(), Invalid> {
        timeouts::check("SMTP timeout", self.connect_timeout, self.timeout)?;
        timeouts::check("SMTP end_timeout", self.end_timeout, self.end_timeout)?;
        self.server.check()?;
        self.attachments.check()?;
        if self.credentials.is_some() && self.server.exposes_passwords() {
            return Err(Invalid::Contradiction(format!(
                "{} would send the password in the clear; use smtps:// or add ?tls=required",
                self.server
            )));
        }
        self.sender().map(|_| ())
    }

    pub(super) fn sender(&self) -> Result<Mailbox, Invalid> {
        let why = |e: lettre::address::AddressError| Invalid::Malformed {
            what: "SMTP sender",
            why: format!("{e}; write it like Shop <no-reply@shop.example>"),
        };
        respelled(&self.from).parse().map_err(why)
    }
}
