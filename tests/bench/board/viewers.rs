use std::time::Duration;

use axum::Router;
use futures::future::try_join_all;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};

use crate::{Failure, pages, pages::Pages};

/// People in front of the board for a time: each has the overview refreshed every five seconds, and reads another page
/// every twenty.
pub(crate) struct Viewers {
    pub(crate) count: u64,
    pub(crate) lasts: Duration,
}

impl Viewers {
    const REFRESH: Duration = Duration::from_secs(5);

    /// Looks, and answers how many pages were read.
    pub(crate) async fn look(&self, router: &Router, pages: &Pages) -> Result<u64, Failure> {
        let end = Instant::now() + self.lasts;
        let viewers = (0..self.count).map(|number| self.viewer(number, end, router, pages));
        Ok(try_join_all(viewers).await?.into_iter().sum())
    }

    async fn viewer(
        &self,
        number: u64,
        end: Instant,
        router: &Router,
        pages: &Pages,
    ) -> Result<u64, Failure> {
        // They did not all come at the same moment.
        let first = Self::REFRESH.mul_f64(number as f64 / self.count as f64);
        let mut ticks = interval_at(Instant::now() + first, Self::REFRESH);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut read, mut others) =
            (0, pages.all().iter().skip(1 + number as usize).chain(pages.all()).cycle());
        while timeout_at(end, ticks.tick()).await.is_ok() {
            pages::read(router, "/").await?;
            read += 1;
            if (read + number).is_multiple_of(4) {
                pages::read(router, others.next().map_or("/", |page| &*page.address)).await?;
                read += 1;
            }
        }
        tokio::time::sleep_until(end).await;
        Ok(read)
    }
}
