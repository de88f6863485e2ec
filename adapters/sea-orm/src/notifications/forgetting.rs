use std::{collections::BTreeSet, sync::Arc};

use claimstream_domain::{
    Fingerprint,
    notification::{
        ERASED, Recipient,
        consent::{Address, address_key},
        spellings_of,
    },
};
use claimstream_ports::StoreError;
use sea_orm::ConnectionTrait;

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
    /// Forgets a recipient, whose addresses are these, and those that its entry or its key has; answers all of them.
    ///
    /// All of it is one transaction: only the entry knows the addresses, so a call that was cut off has to find it again.
    pub(crate) async fn forget(
        &self,
        recipient: &str,
        addresses: &[Address],
    ) -> Result<Vec<Address>, StoreError> {
        let (db, sql) = (&self.db, &self.db.sql);
        let user = Recipient::user_of_key(recipient);
        let entry = match user {
            Some(id) => self.people.addresses(id).await?,
            None => None,
        };
        let addresses = [&spellings_of(recipient, entry.as_ref())[..], addresses].concat();
        db.restarting_beside(ERASE, || async {
            let transaction = db.begin_beside(ERASE).await?;
            self.forget_addresses(&transaction, &addresses).await?;
            let args = db.args().with("hash", hash(&recipient_key(recipient)));
            run(&transaction, ERASE, sql.preferences.forget.bind(&args)).await?;
            if let Some(id) = user {
                self.people.leave(&transaction, id).await?;
            }
            db.commit(ERASE, transaction).await
        })
        .await?;
        Ok(addresses)
    }

    /// Forgets whose addresses are that were spelled since.
    pub(crate) async fn forget_again(&self, addresses: &[Address]) -> Result<(), StoreError> {
        let db = &self.db;
        db.restarting_beside(ERASE, || async {
            let transaction = db.begin_beside(ERASE).await?;
            self.forget_addresses(&transaction, addresses).await?;
            db.commit(ERASE, transaction).await
        })
        .await
    }

    /// Forgets whose addresses are. What keeps them from being written to stays, as a hash that says nothing of their owner: their suppressions, and the
    /// preferences of those who are given by address. The rows are locked by their keys, suppressions first.
    pub(super) async fn forget_addresses(
        &self,
        on: &impl ConnectionTrait,
        addresses: &[Address],
    ) -> Result<(), StoreError> {
        let hashes: BTreeSet<Fingerprint> = addresses.iter().map(Address::fingerprint).collect();
        let keys: BTreeSet<Fingerprint> =
            addresses.iter().map(|address| recipient_key(&address_key(address))).collect();
        if hashes.is_empty() {
            return Ok(());
        }
        let args = self.db.args().with("erased", ERASED);
        let args = args.with_list("addresses", hashes.iter().map(hash));
        let args = args.with_list("recipients", keys.iter().map(hash));
        let sql = &self.db.sql.preferences;
        run(on, ERASE, sql.forget_owner.bind(&args)).await?;
        run(on, ERASE, sql.forget_address.bind(&args)).await?;
        Ok(())
    }
}
