use claimstream_ports::StoreError;

use crate::{
    database::{
        dialect::Dialect,
        server::{server_name, server_variables},
    },
    doctor::{
        examination::Examination,
        finding::{Finding, examined, good, or_uncounted},
        settings::{examine_durability, examine_product, examine_session},
    },
};

impl Examination<'_> {
    /// What walks over whole tables: with a million messages it takes a minute.
    pub(crate) async fn walk(&self) -> Finding {
        or_uncounted("ids", self.examine_ids().await)
    }

    /// Everything about the database that could lose, double or hold up messages, but for what walks over whole tables.
    pub(crate) async fn run(&self) -> Vec<Finding> {
        let mut findings = match self.db.dialect {
            Dialect::MySql => self.examine_server().await,
            Dialect::Sqlite => self.examine_file().await,
        };
        let set_back = self.examine_set_back().await.transpose();
        findings.extend(set_back.map(|found| or_uncounted("clock", found)));
        findings.extend(examined("queues", self.examine_queues().await));
        findings.extend(self.examine_resharding());
        findings.push(or_uncounted("strategies", self.examine_strategies().await));
        findings
    }

    async fn examine_file(&self) -> Vec<Finding> {
        vec![
            good("server", "SQLite, bundled"),
            good("schema", self.schema.to_string()),
            good("shards", self.shards.count.get().to_string()),
            good("strategy", self.strategy.name()),
            good("payload limit", format!("{} bytes", self.db.limits.payload.bytes())),
            // It cannot be otherwise on SQLite, so an operator could not mend it.
            good(
                "processes",
                "writers of all processes take turns; use MySQL or MariaDB for more than one machine",
            ),
        ]
    }

    async fn examine_server(&self) -> Vec<Finding> {
        let name = server_name(self.db.relay(), self.db.sql).await;
        let mut findings = examined("server", name.map(|name| Some(good("server", name))));
        findings.push(good("schema", format!("{}, {} shards", self.schema, self.shards.count.get())));
        findings.push(self.examine_rights().await);
        findings.extend(examined("engine", self.examine_tables().await));
        findings.extend(examined("claim plan", self.examine_claim_plan().await));
        findings.extend(examined("locking", self.examine_skip_locked().await.map(Some)));
        findings.extend(examined("release", self.examine_release().await.map(Some)));
        findings.extend(examined("settings", self.examine_settings().await));
        findings.extend(self.examine_topology().await);
        #[cfg(feature = "mysql")]
        findings.extend(self.examine_servers().await);
        findings.extend(examined("clock", self.examine_clock().await.map(Some)));
        findings.push(good("payload limit", format!("{} bytes", self.db.limits.payload.bytes())));
        findings
    }

    async fn examine_settings(&self) -> Result<Vec<Finding>, StoreError> {
        let variables = server_variables(self.db.relay(), self.db.sql).await?;
        let read = |name: &str| variables.get(name).map_or("", String::as_str);
        let mut findings = vec![self.examine_connections(read("max_connections"))];
        findings.extend(examine_session(read));
        findings.extend(examine_durability(read));
        findings.push(examine_product(read));
        Ok(findings)
    }
}
