use std::{fs, path::Path};

use claimstream_domain::notification::{
    Channel, Content, DirectRecipient, NotificationRequest, RecipientReference, Requester, RequesterKind,
};
use uuid::Uuid;

use crate::{Failure, Options};

/// The folder of the files that come with the program.
pub(crate) const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/notifications");

/// The requests to submit: those of a file, or generated ones.
///
/// Every run gives them fresh ids, made from the run's and their own, so that the same file can be shown again on the
/// same database.
pub(crate) fn requests(options: &Options, run: Uuid) -> Result<Vec<NotificationRequest>, Failure> {
    let mut requests = match options.count {
        Some(count) => (0..count).map(generated).collect(),
        None => read(options.requests.as_deref().unwrap_or(&Path::new(FILES).join("requests.jsonl")))?,
    };
    for request in &mut requests {
        request.id = Uuid::new_v5(&run, request.id.as_bytes());
    }
    Ok(requests)
}

fn read(path: &Path) -> Result<Vec<NotificationRequest>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut requests = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse(line) {
            Ok(request) => requests.push(request),
            Err(why) => eprintln!("{}: line {} left out: {why}", path.display(), number + 1),
        }
    }
    Ok(requests)
}

fn parse(line: &str) -> Result<NotificationRequest, Failure> {
    let request: NotificationRequest = serde_json::from_str(line)?;
    request.check()?;
    Ok(request)
}

/// A request of one recipient who can be reached, by mail and by text message in turns. There are a thousand customers, who come again.
pub(crate) fn generated(number: usize) -> NotificationRequest {
    let customer = number / 2 % 1_000;
    let (email, phone) = (format!("customer-{customer}@example.com"), format!("+4930{customer:06}"));
    let (channel, recipient) = match number % 2 {
        0 => (Channel::Email, DirectRecipient { email: Some(email), ..DirectRecipient::default() }),
        _ => (Channel::Sms, DirectRecipient { phone: Some(phone), ..DirectRecipient::default() }),
    };
    NotificationRequest {
        id: Uuid::from_u128(number as u128),
        requester: Requester { kind: RequesterKind::Service, id: "load".into() },
        recipients: vec![RecipientReference::Direct(recipient)],
        channels: vec![channel],
        content: Some(Content {
            title: Some(format!("Your parcel {number} is on its way")),
            body: Some("It will be with you tomorrow between 9 and 12.".into()),
            ..Content::default()
        }),
        template: None,
        scheduled_at: None,
        delay_ms: None,
        expires_at: None,
        sender: Default::default(),
        category: None,
        priority: Default::default(),
        memo: None,
        headers: Default::default(),
    }
}
