//! The code of docs/preferences.md, run.

use std::sync::Arc;

use claimstream_domain::notification::Channel;
use claimstream_notifications::{
    PreferenceRepository, Unsubscribing,
    consent::{Category, Unsubscribe, UnsubscribeKeys},
};

use super::Failure;
use crate::backend::SeaOrmBackend;

pub(super) async fn runs() {
    let backend = SeaOrmBackend::sqlite("auto");
    let url = backend.database().await.expect("a database");
    let outbox = Arc::new(backend.open(&url, None).await.expect("open"));
    let keys = UnsubscribeKeys::new([&[7; 32][..]]).expect("a key");
    let category = Category::new("marketing").expect("a category");
    let ann = Unsubscribe { recipient: "user:ann".into(), channel: Channel::Email, category };
    let token = keys.sign(&ann);
    page(keys, outbox.clone(), &token).await.expect("an opt-out");
    let read = outbox.consents(&["user:ann".into()], &[]).await.expect("preferences");
    assert_eq!(read.preferences[0].rules[0].about(), "email/marketing");
}

async fn page(
    keys: UnsubscribeKeys,
    outbox: Arc<claimstream_sea_orm::SeaOrmOutbox>,
    token: &str,
) -> Result<(), Failure> {
    let unsubscribing = Unsubscribing::new(keys, outbox.clone());
    let asked = unsubscribing.read(token)?;
    println!("No more {} by {}?", asked.category, asked.channel);
    unsubscribing.opt_out(token).await?;
    Ok(())
}
