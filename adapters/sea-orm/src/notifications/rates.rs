use std::sync::Arc;

use claimstream_domain::notification::provider::{Grant, ProviderName, Rate, TokenSchedule};
use claimstream_ports::StoreError;

use crate::database::{
    Database,
    typed_row::row,
    unit::{rows, run},
};

const RATE: &str = "provider rate";

/// The rates of providers, a row each, shared by all processes of the database.
pub(crate) struct Rates {
    pub(crate) db: Arc<Database>,
}

impl Rates {
    /// How often tokens are taken anew after another process was faster.
    const TRIES: usize = 16;

    /// Takes a block of tokens; a read and a write, whatever their number.
    pub(crate) async fn grant(
        &self,
        provider: &ProviderName,
        rate: Rate,
        wanted: u32,
    ) -> Result<Grant, StoreError> {
        for _ in 0..Self::TRIES {
            let Some(SpanRow { handed_out_until: seen, behind }) = self.read(provider).await? else {
                self.make(provider).await?;
                continue;
            };
            let schedule = TokenSchedule { handed_out_until: unsigned(seen) };
            let (after, grant) = schedule.grant(rate, unsigned(seen.saturating_add(behind)), wanted);
            if grant.tokens == 0 || self.take(provider, seen, after).await? {
                return Ok(grant);
            }
        }
        // Others take all that there is; the next turn may be ours.
        Ok(Grant { tokens: 0, next: rate.span(1) })
    }

    async fn read(&self, provider: &ProviderName) -> Result<Option<SpanRow>, StoreError> {
        let args = self.db.args().with("provider", provider.as_str());
        let read = || rows(self.db.callers(), RATE, self.db.sql.rates.read.bind(&args));
        self.db.restarting_beside(RATE, read).await?.first().map(SpanRow::read).transpose()
    }

    async fn make(&self, provider: &ProviderName) -> Result<(), StoreError> {
        let args = self.db.args().with("provider", provider.as_str());
        let make = || run(self.db.callers(), RATE, self.db.sql.rates.make.bind(&args));
        self.db.restarting_beside(RATE, make).await.map(|_| ())
    }

    /// False if another process has taken tokens meanwhile.
    async fn take(
        &self,
        provider: &ProviderName,
        seen: i64,
        after: TokenSchedule,
    ) -> Result<bool, StoreError> {
        let until = i64::try_from(after.handed_out_until).unwrap_or(i64::MAX);
        let args = self.db.args().with("provider", provider.as_str());
        let args = args.with("seen", seen).with("until", until);
        let take = || run(self.db.callers(), RATE, self.db.sql.rates.take.bind(&args));
        Ok(self.db.restarting_beside(RATE, take).await? == 1)
    }
}

fn unsigned(micros: i64) -> u64 {
    u64::try_from(micros).unwrap_or_default()
}

row! {
    struct SpanRow of "rates/read" { handed_out_until: i64, behind: i64 }
}
