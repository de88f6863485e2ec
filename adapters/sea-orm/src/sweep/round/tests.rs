use super::*;

#[test]
fn ids_of_a_moment_begin_with_it() {
    let id = Uuid::now_v7();
    let micros = (id.as_u128() >> 80) as i64 * 1000;
    assert!(first_id_of(micros) <= id && id < first_id_of(micros + 1000));
    assert_eq!(first_id_of(-1), Uuid::nil());
}

#[cfg(feature = "sqlite")]
mod on_a_file {
    use std::{
        path::PathBuf,
        sync::atomic::{AtomicU64, Ordering},
    };

    use claimstream_domain::{
        ByteBudget, ClaimId, ClaimRequest, Disposition, Enqueued, InstanceId, Lease, MessageId, NewMessage,
        Owner, Payload, QueueName, Retention, Settled, Settlement,
    };
    use claimstream_ports::{LockingStrategy, Settlements, StoreErrorKind};
    use sea_orm::ConnectionTrait;

    use super::*;
    use crate::{FrozenClock, OpenOptions, SeaOrmOutbox};

    struct OnFile {
        outbox: SeaOrmOutbox,
        clock: FrozenClock,
        file: PathBuf,
        claims: AtomicU64,
    }

    impl OnFile {
        async fn with(retention: Retention) -> Self {
            let file = std::env::temp_dir().join(format!("claimstream-sweep-{}.db", Uuid::now_v7()));
            let clock = FrozenClock::at(1_600_000_000_000_000);
            let options =
                OpenOptions { frozen_clock: Some(clock.clone()), retention, ..OpenOptions::default() };
            let outbox = SeaOrmOutbox::open(&format!("sqlite://{}", file.display()), options).await.unwrap();
            Self { outbox, clock, file, claims: AtomicU64::default() }
        }

        async fn acknowledge(&self, limit: u32) {
            let me = InstanceId(1);
            let request = ClaimRequest {
                queue: QueueName::new("orders").unwrap(),
                limit,
                lease: Lease::default(),
                claim: ClaimId::new(me, self.claims.fetch_add(1, Ordering::SeqCst)),
                owner: Owner::new(me, "me").unwrap(),
                budget: ByteBudget::default(),
                runs: None,
            };
            let claimed = self.outbox.claim(&request).await.unwrap();
            let done = |receipt| Settlement { receipt, disposition: Disposition::Done { emit: vec![] } };
            let done: Vec<_> = claimed.into_iter().map(|claimed| done(claimed.receipt)).collect();
            assert_eq!(self.outbox.settle(&done).await.unwrap(), vec![Settled::Accepted; limit as usize]);
        }

        async fn execute(&self, sql: &str) {
            self.outbox.connection().execute_unprepared(sql).await.unwrap();
        }

        /// Has another server take over, as the first connection to it would.
        fn take_over(&self, server: i64) {
            self.outbox.state.db.health.servers.met(server);
        }
    }

    impl Drop for OnFile {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.file);
        }
    }

    fn messages(count: u128) -> Vec<NewMessage> {
        let message = |n: u128| {
            let id = MessageId::new(Uuid::from_u128(n << 64));
            NewMessage::new(id, QueueName::new("orders").unwrap(), Payload::json("{}"))
        };
        (1..=count).map(message).collect()
    }

    /// Live and finished ones lie between each other, and twenty of them are many windows.
    #[tokio::test(flavor = "multi_thread")]
    async fn what_does_not_fit_into_one_window_is_swept_by_the_next() {
        let on = OnFile::with(Retention::default()).await;
        on.outbox.enqueue_now(&messages(20)).await.unwrap();
        on.acknowledge(7).await;
        on.clock.advance(Retention::SHORTEST * 48);
        let mut round = Round { window: 3, ..Round::of(&on.outbox.state.sweeper) };
        let bound = on.clock.micros() - 1;
        assert_eq!(round.bodies(bound).await.unwrap(), 7);
        assert_eq!(round.bodies(bound).await.unwrap(), 0);
        let again = on.outbox.enqueue_now(&messages(20)).await.unwrap();
        assert_eq!(again.iter().filter(|enqueued| **enqueued == Enqueued::New).count(), 7, "and they alone");
    }

    /// Guard: what was finished before a takeover is left to the whole sweep | src/sweep/sweeper.rs `check_server_since`: no `takeovers`
    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_finished_on_a_replaced_server_keeps_its_body_while_it_is_live() {
        keeps_the_body_of_what_is_live_again(|on| on.take_over(2)).await;
    }

    /// Guard: what was finished before a connection broke is left to the whole sweep | src/sweep/sweeper.rs `check_server_since`: no `outage`
    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_finished_before_a_connection_broke_keeps_its_body_while_it_is_live() {
        keeps_the_body_of_what_is_live_again(|on| on.outbox.state.db.health.outage.note()).await;
    }

    /// A replica that takes over, or a server that comes back, may lack the acknowledgement; the message is live there and needs its body.
    async fn keeps_the_body_of_what_is_live_again(commits_are_lost: impl Fn(&OnFile)) {
        let on = OnFile::with(Retention::DELETE).await;
        on.take_over(1);
        on.outbox.enqueue_now(&messages(1)).await.unwrap();
        on.execute("CREATE TABLE kept AS SELECT * FROM claimstream_queue").await;
        on.clock.advance(Duration::from_secs(1));
        on.acknowledge(1).await;
        on.execute("INSERT INTO claimstream_queue SELECT * FROM kept").await;
        commits_are_lost(&on);
        on.clock.advance(Retention::SHORTEST * 2);
        assert_eq!(on.outbox.sweep().await.unwrap().bodies, 0);
        on.acknowledge(1).await;
        assert_eq!(on.outbox.sweep().await.unwrap().bodies, 1);
    }

    /// Guard: a deletion asks whether another server has taken over | src/sweep/sweeper.rs `check_server`: always `Ok`
    #[tokio::test(flavor = "multi_thread")]
    async fn a_sweep_deletes_nothing_after_another_server_has_taken_over() {
        let on = OnFile::with(Retention::default()).await;
        on.take_over(1);
        on.outbox.enqueue_now(&messages(2)).await.unwrap();
        on.acknowledge(2).await;
        on.clock.advance(Retention::SHORTEST * 48);
        let mut round = Round::of(&on.outbox.state.sweeper);
        on.take_over(2);
        let refused = round.bodies(on.clock.micros() - 1).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Unavailable, "{refused}");
        assert!(refused.to_string().contains("another server has taken over"), "{refused}");
        assert!(round.sweeper.begin().await.is_err());
        assert_eq!(on.outbox.sweep().await.unwrap().bodies, 2);
    }
}
