use std::{collections::HashMap, fmt, sync::Arc};

use claimstream_domain::{
    Reason,
    notification::{
        Content, NotificationMessage, NotificationRecord, NotificationRequest, Recipient,
        digest::{DigestItem, DigestRules, KeptItem, NewDigestItem},
    },
};
use claimstream_ports::{
    StoreError,
    notification::{DigestPlace, DigestRepository, TemplateSource},
};

use super::templates::{CompiledTemplates, no_template};

/// Delivers messages of one recipient, channel and category together.
///
/// A fan-out with the same [`DigestRules`] keeps such messages as items; the first of them opens a digest, which is one message of the
/// outbox and due when its window is over. It is delivered under the id of that first item, its text is written of all items that are
/// left by then, and what becomes of it is noted of all of them.
pub struct Digests {
    store: Arc<dyn DigestRepository>,
    templates: CompiledTemplates,
    rules: DigestRules,
}

impl Digests {
    /// Digests of these items, written by these templates as the rules say.
    pub fn new(
        store: Arc<dyn DigestRepository>,
        templates: Arc<dyn TemplateSource>,
        rules: DigestRules,
    ) -> Self {
        Self { store, templates: CompiledTemplates::of(templates), rules }
    }

    /// Closes digests and answers their items.
    pub(super) async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError> {
        self.store.close(digests).await
    }

    /// What a recipient reads of the items of its digest, or why it cannot be written.
    pub(super) async fn write(
        &self,
        digest: &NotificationMessage,
        items: &[DigestItem],
    ) -> Result<Result<Content, Reason>, StoreError> {
        let rule = self.rules.rule(digest.category.as_ref(), digest.priority);
        let Some(id) = rule.and_then(|rule| rule.template.as_deref()) else {
            return Ok(DigestItem::list(items).ok_or_else(|| Reason::new("the digest has no text")));
        };
        let template = match self.templates.find(id, None).await? {
            None => return Ok(Err(no_template(id, digest.channel))),
            Some(Err(invalid)) => {
                let why = format_args!("the template {id:?} cannot be used: {invalid}");
                return Ok(Err(Reason::new(why)));
            }
            Some(Ok(template)) => template,
        };
        let language = items.iter().rev().find_map(|item| item.language.clone());
        let recipient = Recipient { language, key: digest.recipient.clone(), ..Recipient::default() };
        Ok(template.write_digest(items, &recipient, digest.channel, digest.unsubscribe_url.as_deref()))
    }
}

/// Takes messages out that wait for a digest: what is left is enqueued. One with files goes by itself, because a digest carries none.
pub(super) fn take_out(
    rules: &DigestRules,
    request: &NotificationRequest,
    recipients: &[Recipient],
    pairs: &mut [(NotificationRecord, Option<NotificationMessage>)],
) -> Vec<NewDigestItem> {
    let Some(rule) = rules.rule(request.category.as_ref(), request.priority) else { return Vec::new() };
    let languages: HashMap<&str, Option<&String>> =
        recipients.iter().map(|recipient| (recipient.key.as_str(), recipient.language.as_ref())).collect();
    let params = request.template.as_ref().map(|call| &call.params);
    let taken = pairs.iter_mut().filter_map(|(record, message)| {
        let message = message.take_if(|message| message.content.attachments.is_empty())?;
        record.reason = Some(Reason::new("part of a digest"));
        let language = languages.get(message.recipient.as_str()).copied().flatten().cloned();
        let item = DigestItem { params: params.cloned().unwrap_or_default(), language, message };
        Some(NewDigestItem { item, window: rule.window })
    });
    taken.collect()
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests").field("rules", &self.rules).finish_non_exhaustive()
    }
}
