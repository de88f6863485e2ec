use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use claimstream_domain::notification::{
    Channel, Content, DirectRecipient, NotificationRequest, ReceiptCounts, RecipientReference,
    consent::Address, message_id,
};
use claimstream_sea_orm::SeaOrmOutbox;
use indicatif::ProgressBar;
use uuid::Uuid;

use super::{
    Accepted, Intake,
    mail_course::Fate,
    mailer::{Mailer, Said},
    receipt_calls::Answered,
    receipts_kept::{ReceiptsKept, text},
};
use crate::{Failure, load::generated, show::depth};

/// What came of the receipts: whether all were kept, and whether nothing goes to addresses that bounced.
pub(crate) struct Aftermath {
    said: Said,
    kept: ReceiptCounts,
    bounced: usize,
    suppressed: usize,
    /// The mails of the second round that must be skipped.
    pub(crate) skipped: Vec<Uuid>,
    /// What is not as it should be.
    wrong: Vec<String>,
}

impl Aftermath {
    /// What there is to tell, a line each.
    pub(crate) fn story(&self) -> Vec<(&'static str, String)> {
        let Answered { new, known, waiting, .. } = self.said.answered;
        vec![
            ("receipts kept", text(&self.kept)),
            ("answers to the provider", format!("{new} new, {known} known, {waiting} waiting for our note")),
            ("addresses that bounced", format!("{}, suppressed {}", self.bounced, self.suppressed)),
            ("mails to them after that", format!("{} handed in", self.skipped.len())),
        ]
    }

    /// All that is not as it should be, a sentence each.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let Said { answered: Answered { unknown, ignored, faulty, .. }, not_taken, too_late } = &self.said;
        let counted = [
            (*not_taken, "calls with receipts were taken by no server"),
            (*unknown, "receipts were of unknown messages"),
            (ignored + faulty, "receipts could not be read"),
        ];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let counted = counted.map(|(count, what)| format!("{count} {what}"));
        let too_late =
            too_late.iter().map(|id| format!("mail {id} was delivered long after its address bounced"));
        counted.chain(too_late).chain(self.wrong.iter().cloned()).collect()
    }
}

/// What it takes to find out.
pub(crate) struct Round<'a> {
    pub(crate) outbox: &'a SeaOrmOutbox,
    pub(crate) intake: &'a Intake,
    pub(crate) mailer: &'a Mailer,
    /// Messages that a process delivered which was killed then.
    pub(crate) of_killed: &'a HashSet<Uuid>,
}

impl Round<'_> {
    /// A receipt whose process was killed waits for up to a minute until another one looks.
    const SETTLES_WITHIN: Duration = Duration::from_secs(90);
    /// How many addresses of each kind are written to once more.
    const ADDRESSES: usize = 200;

    /// Waits until all receipts are kept, writes to the addresses once more, and compares everything.
    pub(crate) async fn play(&self, accepted: &mut Accepted) -> Result<Aftermath, Failure> {
        self.until_kept().await?;
        let kept = ReceiptsKept::of(&self.mailer.mails(), self.of_killed);
        let (_, wrong_before) = kept.compare_suppressed(self.outbox).await?;
        let requests = second_round(&kept);
        let second = self.intake.submit(Uuid::now_v7(), &requests, &ProgressBar::hidden()).await?;
        let skipped = second.requests.iter().filter_map(message_to_be_skipped).collect();
        accepted.extend(second);
        self.until(async || Ok(depth(self.outbox).await? == 0)).await?;
        self.until_kept().await?;
        let kept = ReceiptsKept::of(&self.mailer.mails(), self.of_killed);
        let (counts, mut wrong) = kept.compare(self.outbox).await?;
        let (suppressed, wrong_after) = kept.compare_suppressed(self.outbox).await?;
        wrong.extend(wrong_before.into_iter().chain(wrong_after));
        let said = self.mailer.said();
        Ok(Aftermath { said, kept: counts, bounced: kept.suppressed().len(), suppressed, skipped, wrong })
    }

    /// Waits until the mailer has said all and the database has kept it; what is missing after a while is found by the comparison.
    async fn until_kept(&self) -> Result<(), Failure> {
        self.until(async || {
            let kept = || ReceiptsKept::of(&self.mailer.mails(), self.of_killed);
            Ok(self.mailer.has_said_all() && kept().compare(self.outbox).await?.1.is_empty())
        })
        .await
    }

    async fn until(&self, is_so: impl AsyncFn() -> Result<bool, Failure>) -> Result<(), Failure> {
        let began = Instant::now();
        while !is_so().await? && began.elapsed() < Self::SETTLES_WITHIN {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

/// A mail to each address that has got one, or to some of very many.
fn second_round(kept: &ReceiptsKept) -> Vec<NotificationRequest> {
    let (bounced, others): (Vec<_>, Vec<_>) =
        kept.certain().partition(|address| kept.suppressed().contains_key(address));
    let of_each = [bounced, others].into_iter().flat_map(|all| all.into_iter().take(Round::ADDRESSES));
    of_each.map(|address| mail_to(address.as_str())).collect()
}

/// The one message of a request of the second round, if its address has bounced.
fn message_to_be_skipped(request: &NotificationRequest) -> Option<Uuid> {
    let RecipientReference::Direct(direct) = request.recipients.first()? else { return None };
    let recipient = direct.resolve();
    let address = Address::new(Channel::Email, recipient.address(Channel::Email)?);
    Fate::of(&address).suppresses()?;
    Some(message_id(request.id, Channel::Email, &recipient.key))
}

fn mail_to(address: &str) -> NotificationRequest {
    let recipient = DirectRecipient { email: Some(address.into()), ..DirectRecipient::default() };
    let content = Content {
        title: Some("How did we do?".into()),
        body: Some("Two questions, one minute.".into()),
        ..Content::default()
    };
    NotificationRequest {
        id: Uuid::now_v7(),
        recipients: vec![RecipientReference::Direct(recipient)],
        channels: vec![Channel::Email],
        content: Some(content),
        ..generated(0)
    }
}
