use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use claimstream_domain::notification::NotificationMessage;
use uuid::Uuid;

use crate::attachments::FetchedFile;

/// The files of a mail, in their order.
pub(super) type MailFiles = Arc<[Arc<FetchedFile>]>;

/// Files that were fetched for mails that are not sent yet, as long as something else holds them.
#[derive(Default)]
pub(super) struct FetchedFiles(Mutex<HashMap<Uuid, Weak<[Arc<FetchedFile>]>>>);

impl FetchedFiles {
    /// Notes the files of a message, and forgets those that nothing holds any more.
    pub(super) fn note(&self, message: Uuid, files: &MailFiles) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, files| files.strong_count() > 0);
        all.insert(message, Arc::downgrade(files));
    }

    /// The files of a message, if they are held. A message whose attachments were erased meanwhile has none.
    pub(super) fn of(&self, message: &NotificationMessage) -> Option<MailFiles> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = all.get(&message.id).and_then(Weak::upgrade);
        files.filter(|files| files.len() == message.content.attachments.len())
    }
}
