use std::sync::Arc;

use claimstream_domain::{
    Fingerprint,
    notification::{ERASED, Recipient, consent::preference_key, spellings_of},
};
use claimstream_ports::StoreError;

use crate::{
    database::{Database, unit::run},
    notifications::{people::People, preferences::recipient_key, suppressions::hash},
};

const ERASE: &str = "erase";

/// Removes what is known of a person beside notifications: the entry in the directory, and what it wants.
pub(crate) struct Forgetting {
    pub(crate) db: Arc<Database>,
    pub(crate) people: Arc<People>,
}

impl Forgetting {
    /// Forgets a recipient. What keeps an address from being written to stays, as a hash that says nothing of its owner.
    ///
    /// All of it is one transaction: only the entry knows the addresses, so a call that was cut off has to find it again.
    pub(crate) async fn forget(&self, recipient: &str) -> Result<(), StoreError> {
        let (db, sql) = (&self.db, &self.db.sql);
        let user = Recipient::user_of_key(recipient);
        let entry = match user {
            Some(id) => self.people.addresses(id).await?,
            None => None,
        };
        let addresses = spellings_of(recipient, entry.as_ref());
        let mut hashes: Vec<Fingerprint> = addresses.iter().map(|address| address.fingerprint()).collect();
        hashes.sort_unstable_by_key(|hash| *hash.as_bytes());
        // Preferences of somebody given by address belong to the address, and hold as its suppression does.
        let mut keys: Vec<Fingerprint> =
            addresses.iter().map(|address| recipient_key(&preference_key(recipient, address))).collect();
        keys.retain(|key| *key != recipient_key(recipient));
        keys.sort_unstable_by_key(|key| *key.as_bytes());
        db.restarting_beside(ERASE, || async {
            let transaction = db.begin_beside(ERASE).await?;
            let args = db.args().with("hash", hash(&recipient_key(recipient)));
            run(&transaction, ERASE, sql.preferences.forget.bind(&args)).await?;
            if !addresses.is_empty() {
                let args = db.args().with("erased", ERASED);
                let args = args.with_list("addresses", hashes.iter().map(hash));
                let args = args.with_list("recipients", keys.iter().map(hash));
                run(&transaction, ERASE, sql.preferences.forget_owner.bind(&args)).await?;
                run(&transaction, ERASE, sql.preferences.forget_address.bind(&args)).await?;
            }
            if let Some(id) = user {
                self.people.leave(&transaction, id).await?;
            }
            db.commit(ERASE, transaction).await
        })
        .await
    }
}
