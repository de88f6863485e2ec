use async_trait::async_trait;
use claimstream_domain::notification::digest::{DigestItem, KeptItem};
use claimstream_ports::{
    StoreError,
    notification::{DigestPlace, DigestRepository},
};

use crate::{
    store::MemoryStore,
    tables::{Notifications, Tables},
};

#[async_trait]
impl DigestRepository for MemoryStore {
    async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError> {
        let Tables { notifications, .. } = &mut *self.database.tables();
        let Notifications { digests: kept, messages, .. } = notifications;
        let close = |digest| {
            let items = kept.close(digest).into_iter();
            let standing = |item: DigestItem| {
                let status = messages.get(&item.message.id)?.status;
                Some(KeptItem { item, status })
            };
            items.filter_map(standing).collect()
        };
        Ok(digests.iter().map(close).collect())
    }
}
