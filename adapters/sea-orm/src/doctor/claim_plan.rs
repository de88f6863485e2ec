use claimstream_ports::StoreError;

use crate::{
    database::{
        args::bytes,
        unit::{Row, rows},
    },
    doctor::{
        examination::Examination,
        finding::{Finding, either, failure, good},
    },
};

const DOCTOR: &str = "doctor";

impl Examination<'_> {
    /// The claim reads its own index in order and sorts nothing.
    pub(super) async fn examine_claim_plan(&self) -> Result<Vec<Finding>, StoreError> {
        let (name, sql) = self.claim;
        let args = self
            .db
            .args()
            .with("queue", "doctor")
            .with("shard", 0)
            .with("claim", bytes(uuid::Uuid::nil()))
            .with("lease_end", 1_i64)
            .with("low", 0_i64)
            .with("holder", vec![0_u8; 8])
            .with("inline", 0_i64)
            .with("limit", 100_i64);
        let mut statement = sql.bind(&args);
        statement.sql = format!("EXPLAIN FORMAT=TRADITIONAL {}", statement.sql);
        let plan = rows(self.db.relay(), DOCTOR, statement).await?;
        let plan = Plan::of(&plan)?;
        Ok(vec![either(
            plan.key == "PRIMARY" && !plan.extra.contains("filesort") || plan.reads_nothing(),
            good("claim plan", format!("{name}: {}", plan.described())),
            failure("claim plan", format!("{name} must use key PRIMARY without a sort: {plan:?}")),
        )])
    }
}

/// The lines of an EXPLAIN that decide.
#[derive(Debug)]
struct Plan {
    key: String,
    extra: String,
}

impl Plan {
    /// Reads the columns that all servers have.
    fn of(plan: &[Row]) -> Result<Self, StoreError> {
        let mut read = Self { key: String::new(), extra: String::new() };
        for row in plan {
            read.key = row.named_text("key")?.unwrap_or_default();
            read.extra = row.named_text("Extra")?.unwrap_or_default();
        }
        Ok(read)
    }

    fn described(&self) -> String {
        match self.reads_nothing() {
            true => "nothing to read, because no relay holds the shard that was asked about".into(),
            false => format!("key {}, {}", self.key, self.extra),
        }
    }

    /// The server has looked at the lease already: the shard is not held, and there is nothing to read.
    fn reads_nothing(&self) -> bool {
        self.key.is_empty() && self.extra.contains("const table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_reads_nothing_is_said_in_plain_words() {
        let of = |key: &str, extra: &str| Plan { key: key.into(), extra: extra.into() };
        assert_eq!(of("PRIMARY", "Using where").described(), "key PRIMARY, Using where");
        let idle = of("", "Impossible WHERE noticed after reading const tables");
        assert!(idle.reads_nothing());
        assert_eq!(
            idle.described(),
            "nothing to read, because no relay holds the shard that was asked about"
        );
    }
}
