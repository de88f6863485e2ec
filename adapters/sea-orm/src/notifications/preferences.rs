use std::{collections::HashMap, sync::Arc, time::Duration};

use claimstream_domain::{
    Fingerprint,
    notification::consent::{Address, PreferenceChange, Preferences, Suppression},
};
use claimstream_ports::{
    StoreError,
    notification::{ConsentsRead, refused_change},
};
use sea_orm::ConnectionTrait;

use crate::{
    database::{
        Database,
        args::Args,
        classify::corrupt,
        typed_row::row,
        unit::{rows, run},
    },
    notifications::suppressions::{hash, suppression},
};

const PREFERENCES: &str = "preferences";

/// What recipients want.
pub(crate) struct PreferenceRows {
    pub(crate) db: Arc<Database>,
}

/// What was found, by the keys of the rows.
#[derive(Default)]
struct Found {
    preferences: HashMap<Vec<u8>, Preferences>,
    suppressed: HashMap<Vec<u8>, Suppression>,
    now: i64,
}

impl PreferenceRows {
    /// How many recipients, and how many addresses, one statement names.
    const KEYS: usize = 500;

    /// Reads what recipients want and which addresses are suppressed; one statement for 500 of each.
    pub(crate) async fn consents(
        &self,
        recipients: &[String],
        addresses: &[Address],
    ) -> Result<ConsentsRead, StoreError> {
        let recipients: Vec<Fingerprint> = recipients.iter().map(|key| recipient_key(key)).collect();
        let addresses: Vec<Fingerprint> = addresses.iter().map(Address::fingerprint).collect();
        let mut found = Found::default();
        let statements = recipients.len().max(addresses.len()).div_ceil(Self::KEYS).max(1);
        for n in 0..statements {
            let (recipients, addresses) = (part(&recipients, n), part(&addresses, n));
            let args = self.db.args().with_list("recipients", recipients.iter().map(hash));
            let args = args.with_list("addresses", addresses.iter().map(hash));
            let read = || rows(self.db.callers(), PREFERENCES, self.db.sql.preferences.read.bind(&args));
            for row in self.db.restarting_beside(PREFERENCES, read).await? {
                found.take(ConsentRow::read(&row)?)?;
            }
        }
        let micros = u64::try_from(found.now).map_err(|e| corrupt(PREFERENCES, e))?;
        let wants =
            |key: &Fingerprint| found.preferences.get(&key.as_bytes()[..]).cloned().unwrap_or_default();
        let reason = |key: &Fingerprint| found.suppressed.get(&key.as_bytes()[..]).copied();
        Ok(ConsentsRead {
            preferences: recipients.iter().map(wants).collect(),
            suppressed: addresses.iter().map(reason).collect(),
            since_1970: Duration::from_micros(micros),
        })
    }

    /// Changes what a recipient wants, in one transaction.
    pub(crate) async fn change(
        &self,
        recipient: &str,
        changes: &[PreferenceChange],
    ) -> Result<Preferences, StoreError> {
        self.db.restarting_beside(PREFERENCES, || self.change_once(recipient, changes)).await
    }

    async fn change_once(
        &self,
        recipient: &str,
        changes: &[PreferenceChange],
    ) -> Result<Preferences, StoreError> {
        let (db, sql) = (&self.db, &self.db.sql.preferences);
        let key = db.args().with("hash", hash(&recipient_key(recipient)));
        let transaction = db.begin_beside(PREFERENCES).await?;
        let new =
            key.clone().with("recipient", recipient).with("preferences", json(&Preferences::default())?);
        run(&transaction, PREFERENCES, sql.keep.bind(&new)).await?;
        let before = self.lock(&transaction, &key).await?;
        let after = changes.iter().try_fold(before, |before, change| change.apply(before));
        let after = match after {
            Ok(after) => after,
            Err(invalid) => {
                db.roll_back(PREFERENCES, transaction).await?;
                return Err(refused_change(invalid));
            }
        };
        run(&transaction, PREFERENCES, sql.change.bind(&key.with("preferences", json(&after)?))).await?;
        db.commit(PREFERENCES, transaction).await?;
        Ok(after)
    }

    async fn lock(&self, on: &impl ConnectionTrait, key: &Args) -> Result<Preferences, StoreError> {
        let found = rows(on, PREFERENCES, self.db.sql.preferences.lock.bind(key)).await?;
        match found.first() {
            Some(row) => read(&LockedRow::read(row)?.preferences),
            None => Err(corrupt(PREFERENCES, "a recipient that is kept cannot be read")),
        }
    }
}

impl Found {
    fn take(&mut self, row: ConsentRow) -> Result<(), StoreError> {
        if let Some(now) = row.now {
            self.now = now;
        }
        if let (Some(key), Some(preferences)) = (row.recipient, row.preferences) {
            self.preferences.insert(key, read(&preferences)?);
        }
        if let (Some(key), Some(reason)) = (row.address, row.reason) {
            self.suppressed.insert(key, suppression(&reason)?);
        }
        Ok(())
    }
}

/// The key of a recipient's row.
pub(super) fn recipient_key(recipient: &str) -> Fingerprint {
    Fingerprint::of(&[recipient.as_bytes()])
}

fn part(keys: &[Fingerprint], n: usize) -> &[Fingerprint] {
    keys.chunks(PreferenceRows::KEYS).nth(n).unwrap_or_default()
}

fn json(preferences: &Preferences) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(preferences).map_err(|e| corrupt(PREFERENCES, e))
}

fn read(preferences: &[u8]) -> Result<Preferences, StoreError> {
    serde_json::from_slice(preferences).map_err(|e| corrupt(PREFERENCES, e))
}

row! {
    /// The present moment, or what a recipient wants, or why an address is suppressed.
    struct ConsentRow of "preferences/read" {
        now: Option<i64>,
        recipient: Option<Vec<u8>>,
        preferences: Option<Vec<u8>>,
        address: Option<Vec<u8>>,
        reason: Option<String>,
    }
}

row! {
    struct LockedRow of "preferences/lock" { preferences: Vec<u8> }
}
