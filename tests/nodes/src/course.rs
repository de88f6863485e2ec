use std::{fmt, time::Duration};

use claimstream_testbed::{
    Cluster, ScratchDatabase,
    work::{Failure, Figures, Plan, STRATEGIES, Work},
};
use futures::future::{join_all, try_join_all};

/// The work of every strategy on one cluster, each in a database of its own, all under the same faults.
pub(super) struct Course {
    works: Vec<(&'static str, Work)>,
    databases: Vec<ScratchDatabase>,
}

/// What has come of the work of a strategy.
pub(super) struct CourseResult {
    pub(super) strategy: &'static str,
    pub(super) figures: Figures,
}

impl Course {
    /// How long claims outlive a relay that can no longer renew them.
    const LEASE: Duration = Duration::from_secs(4);
    const EVERY: Duration = Duration::from_millis(40);

    /// Makes the databases at `url`, and begins with relays and producers at each of these.
    pub(super) async fn start(url: &str, places: &[String]) -> Self {
        let begin = async |strategy: &'static str| -> Result<_, Failure> {
            let database = ScratchDatabase::create(url, &format!("faults_{strategy}")).await?;
            let here = |place: &String| in_database(place, strategy);
            let places: Vec<String> = places.iter().map(here).collect();
            let (lease, every) = (Self::LEASE, Self::EVERY);
            let plan = Plan { strategy, relays: places.clone(), producers: places, lease, every };
            Ok(((strategy, Work::start(&plan).await?), database))
        };
        let begun = try_join_all(STRATEGIES.map(begin)).await.expect("the work begins");
        let (works, databases) = begun.into_iter().unzip();
        Self { works, databases }
    }

    /// Notes that a fault begins.
    pub(super) fn fault(&self) {
        self.works.iter().for_each(|(_, work)| work.tally().fault());
    }

    /// Notes that the replica receives nothing from now on.
    pub(super) fn loses(&self) {
        self.works.iter().for_each(|(_, work)| work.tally().loses());
    }

    /// Notes that another server is about to be written to.
    pub(super) fn replaced(&self) {
        self.works.iter().for_each(|(_, work)| work.tally().replaced());
    }

    /// Waits until every strategy has handled more messages.
    pub(super) async fn until_all_work(&self) {
        let handled = |work: &Work| work.tally().handled();
        let before: Vec<usize> = self.works.iter().map(|(_, work)| handled(work)).collect();
        let works = self.works.iter().zip(before).map(|((strategy, work), before)| async move {
            for _ in 0..600 {
                if handled(work) >= before + 25 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            panic!("{strategy} has stood still for a minute, after {before} messages");
        });
        join_all(works).await;
    }

    /// Lets everything come to an end and reads at `url` what has come of it.
    pub(super) async fn finish(self, url: &str) -> Vec<CourseResult> {
        let finish = self.works.into_iter().map(|(strategy, work)| async move {
            let figures = work.finish(&in_database(url, strategy)).await.expect("the work ends");
            CourseResult { strategy, figures }
        });
        let result = join_all(finish).await;
        // The cluster ends with the test, and its databases with it.
        self.databases.into_iter().for_each(std::mem::forget);
        result.iter().for_each(|result| println!("{result}"));
        result
    }
}

/// Waits for a node to be killed, started and so on, which takes its time.
pub(super) async fn aside(what: impl FnOnce(&Cluster) + Send + 'static, cluster: &std::sync::Arc<Cluster>) {
    let cluster = cluster.clone();
    tokio::task::spawn_blocking(move || what(&cluster)).await.expect("the cluster obeys");
}

impl fmt::Display for CourseResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { messages, delivered, lost, doubled, repeats, accepted_twice, stuck, .. } =
            &self.figures;
        write!(
            f,
            "faults: {}: {delivered} of {messages}, {lost} lost ({} with the source), {doubled} doubled, {repeats} repeats, \
             {accepted_twice} accepted twice ({} forgotten), {stuck} stuck, longest gap {:.1} s, recovery {:.1} s",
            self.strategy,
            self.figures.lost_with_the_source,
            self.figures.accepted_and_forgotten,
            self.figures.longest_gap.as_secs_f64(),
            self.figures.recovery.as_secs_f64(),
        )
    }
}

fn in_database(url: &str, strategy: &str) -> String {
    url.replace("/claimstream?", &format!("/faults_{strategy}?"))
}
