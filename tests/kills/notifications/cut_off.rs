use claimstream_domain::{
    DeadLetterFilter, DeadLetterListed, QueueName,
    notification::{MESSAGE_QUEUE, REQUEST_QUEUE},
};
use claimstream_ports::DeadLetters;
use claimstream_sea_orm::SeaOrmOutbox;

use crate::Failure;

const PAGE: u32 = 500;

/// Revives what is a dead letter because each of its attempts ended with a process, and says how much that is.
///
/// Each kill costs the messages in hand an attempt. Where processes are killed faster than they work, a few messages lose all of
/// them. An operator would revive these as well.
pub(crate) async fn revive(outbox: &SeaOrmOutbox) -> Result<u64, Failure> {
    let mut revived = 0;
    for queue in [REQUEST_QUEUE, MESSAGE_QUEUE] {
        let queue = Some(QueueName::new(queue)?);
        let all = DeadLetterFilter { queue, ..DeadLetterFilter::default() };
        let mut after = None;
        loop {
            let page = outbox.page(&all, after, PAGE).await?;
            let ids: Vec<_> = page.letters.iter().filter(|letter| is_cut_off(letter)).map(|l| l.id).collect();
            if !ids.is_empty() {
                revived += outbox.revive(&DeadLetterFilter { ids, ..all.clone() }).await?;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    Ok(revived)
}

fn is_cut_off(letter: &DeadLetterListed) -> bool {
    letter.reason.to_string().contains("never ended")
}
