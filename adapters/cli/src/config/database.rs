use std::{collections::BTreeSet, time::Duration};

use claimstream_domain::{Retention, ShardCount, notification::InAppEntry, step::StepRetention};
use claimstream_sea_orm::{Capability, OpenOptions, Order, Strategy, StrategyChoice};

use super::{
    capability_list::CapabilityList,
    claiming::{ClaimingChoice, LockPlace},
    contradiction::Contradiction,
    database_url::DatabaseUrl,
    secret::SecretSource,
    setting::Setting,
};

/// Where the outbox is and how it is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseSettings {
    /// The database; there is no default.
    pub url: Option<DatabaseUrl>,
    /// The password, instead of one in the URL.
    pub password: SecretSource,
    /// How messages are claimed; `auto` by default.
    pub strategy: ClaimingChoice,
    /// Under `lock_guarded`: the strategy behind the lock; `preemptive_update` by default.
    pub guarded: StrategyChoice,
    /// Under `lock_guarded`: where the lock is; there is no default. Other strategies leave it alone.
    pub lock: Option<LockPlace>,
    /// Whether messages of one ordering key follow each other; not by default.
    pub order: Order,
    /// Into how many shards queues are cut when the tables are made; 16 by default.
    pub shards: ShardCount,
    /// How long what finished messages leave behind is kept; `keep 1d` by default.
    pub retention: Retention,
    /// How long steps of the step ledger are kept, and with them what inboxes remember; 30 days by default.
    pub step_retention: Duration,
    /// How long entries of inboxes inside the application are kept; a year by default, until they are erased if it is empty.
    pub in_app_retention: Option<Duration>,
    /// What the database is used for besides the outbox and what a command needs; nothing by default. `schema apply` makes their tables.
    pub capabilities: Option<CapabilityList>,
    /// Whether `notify`, `relay` and `serve` make tables that are missing; by default they do.
    pub create_schema: bool,
    /// The most connections of handlers and producers, at least 2; 10 by default.
    pub max_connections: u32,
    /// The most connections besides, at least 2, for claims, renewals, settlements and sweeps; 6 by default.
    pub relay_connections: u32,
    /// How long to wait for a connection; 10 s by default.
    pub acquire_timeout: Duration,
}

impl DatabaseSettings {
    /// Shows its keys in this section.
    pub(super) fn each_in(&mut self, section: &str, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        let mut visit = |name: &str, setting: &mut dyn Setting| visit(&format!("{section}.{name}"), setting);
        visit("url", &mut self.url);
        self.password.each("password", &mut visit);
        visit("strategy", &mut self.strategy);
        visit("guarded", &mut self.guarded);
        visit("lock", &mut self.lock);
        visit("order", &mut self.order);
        visit("shards", &mut self.shards);
        visit("retention", &mut self.retention);
        visit("step_retention", &mut self.step_retention);
        visit("in_app_retention", &mut self.in_app_retention);
        visit("capabilities", &mut self.capabilities);
        visit("create_schema", &mut self.create_schema);
        visit("max_connections", &mut self.max_connections);
        visit("relay_connections", &mut self.relay_connections);
        visit("acquire_timeout", &mut self.acquire_timeout);
    }

    pub(super) fn contradictions_in(&self, section: &str) -> Vec<Contradiction> {
        let in_section = |(name, why)| (format!("{section}.{name}"), why);
        self.contradictions().into_iter().map(in_section).collect()
    }

    /// What does not go together, each with the name of its key.
    fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if self.max_connections < 2 {
            found.push(("max_connections", "the self-check needs at least 2".into()));
        }
        if self.relay_connections < 2 {
            let why = "what became of a broken connection is read back on another one; at least 2";
            found.push(("relay_connections", why.into()));
        }
        found.extend(self.contradiction_of_lock());
        if let Err(why) = StepRetention::check(self.step_retention) {
            found.push(("step_retention", why.to_string()));
        }
        if let Some(Err(why)) = self.in_app_retention.map(InAppEntry::check_retention) {
            found.push(("in_app_retention", why.to_string()));
        }
        if self.order != Order::None && self.choice() != StrategyChoice::Exactly(Strategy::ShardLease) {
            let why = "only strategy shard_lease keeps an order; set database.strategy = \"shard_lease\"";
            found.push(("order", why.into()));
        }
        if self.acquire_timeout.is_zero() {
            found.push(("acquire_timeout", "wait longer than nothing".into()));
        }
        found
    }
}

impl DatabaseSettings {
    /// The same database, used for one thing more.
    #[must_use]
    pub fn used_for(&self, capability: Capability) -> Self {
        let mut database = self.clone();
        database.capabilities.get_or_insert_default().0.insert(capability);
        database
    }

    /// What the database is used for: what the configuration lists, and what it needs for its strategy.
    pub(crate) fn all_capabilities(&self) -> BTreeSet<Capability> {
        let listed = self.capabilities.iter().flat_map(|list| list.0.iter().copied());
        let is_locked =
            self.strategy == ClaimingChoice::LockGuarded && self.lock == Some(LockPlace::Database);
        let is_leased = self.choice() == StrategyChoice::Exactly(Strategy::ShardLease);
        let for_strategy = [(is_locked, Capability::Steps), (is_leased, Capability::ShardLease)];
        listed.chain(for_strategy.into_iter().filter(|(is_on, _)| *is_on).map(|(_, one)| one)).collect()
    }

    /// The store's strategy: the one that is chosen, or the one behind the lock.
    pub fn choice(&self) -> StrategyChoice {
        match self.strategy {
            ClaimingChoice::Bare(choice) => choice,
            ClaimingChoice::LockGuarded => self.guarded,
        }
    }

    fn contradiction_of_lock(&self) -> Option<(&'static str, String)> {
        let why = "lock_guarded needs a lock; set database.lock = \"database\", or one such as \
                   database.lock = \"redis://host:6379/0\"";
        let lacks_lock = self.strategy == ClaimingChoice::LockGuarded && self.lock.is_none();
        lacks_lock.then(|| ("strategy", why.into()))
    }
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        let options = OpenOptions::default();
        Self {
            url: None,
            password: SecretSource::default(),
            strategy: ClaimingChoice::Bare(options.strategy),
            guarded: StrategyChoice::Exactly(Strategy::PreemptiveUpdate),
            lock: None,
            order: options.order,
            shards: options.shards,
            retention: options.retention,
            step_retention: options.step_retention,
            in_app_retention: options.in_app_retention,
            capabilities: None,
            create_schema: options.create_schema,
            max_connections: options.max_connections,
            relay_connections: options.relay_connections,
            acquire_timeout: options.acquire_timeout,
        }
    }
}
