use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use claimstream_board::{Board, BoardStores, Right, User, Users};
use claimstream_domain::{
    AuditAction, AuditEntry, ByteBudget, ClaimId, ClaimRequest, Disposition, Headers, InstanceId, Lease,
    MessageId, NewMessage, Owner, PauseNote, Payload, QueueName, Reason, Receipt, Settlement,
    saga::{NewSaga, SagaId, SagaOrder, SagaOrderKind},
    step::{NewStep, StepKey},
    timer_event::Tick,
};
use claimstream_ports::{
    AuditLog, DistributedLock, Enqueue, ListInstances, LockingStrategy, Observe, PauseQueues, Settlements,
    Timer, Transactions, saga::NoteSagas, step::StepLedger,
};
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox, Strategy, StrategyChoice};
use claimstream_tokio::TokioTimer;
use tokio::{net::TcpListener, task::JoinHandle};
use uuid::Uuid;

use crate::{Failure, requests};

/// A queue with many dead letters, and messages in every other state.
pub const QUEUE: &str = "orders";

/// A queue whose name, and everything in whose dead letters, wants to be a script.
pub const HOSTILE: &str = "<script>alert('queue')</script>";

/// A queue that a relay under `shard_lease` has in hand, and hangs.
pub const LEASED: &str = "leased";

/// A board that is served on this machine, on an SQLite file of its own.
pub struct Site {
    address: SocketAddr,
    outbox: SeaOrmOutbox,
    /// A relay that leases shards of another queue.
    leasing: SeaOrmOutbox,
    folder: PathBuf,
    server: JoinHandle<()>,
    claims: u64,
}

/// The tokens of a board: words that stand nowhere else.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The one that may look.
    pub looks: String,
    /// The one that may change something too.
    pub changes: String,
}

impl Users for Tokens {
    fn identify(&self, token: &str) -> Option<User> {
        let named =
            |name: &str, right| Some(User { name: format!("{name}<img src=x onerror=alert(3)>"), right });
        match token {
            _ if token == self.looks => named("looks", Right::Look),
            _ if token == self.changes => named("changes", Right::Change),
            _ => None,
        }
    }
}

impl Site {
    /// A board without tokens.
    pub async fn for_everyone() -> Result<Self, Failure> {
        Self::open(Board::for_everyone).await
    }

    /// A board that asks for one of these.
    pub async fn with_tokens() -> Result<(Self, Tokens), Failure> {
        let tokens = Tokens { looks: Uuid::new_v4().to_string(), changes: Uuid::new_v4().to_string() };
        let known = Arc::new(tokens.clone());
        Ok((Self::open(|stores, timer| Board::for_users(stores, timer, known)).await?, tokens))
    }

    /// A board without tokens that is read-only.
    pub async fn read_only() -> Result<Self, Failure> {
        Self::open(|stores, timer| Board::for_everyone(stores, timer).read_only()).await
    }

    async fn open(board: impl FnOnce(BoardStores, Arc<dyn Timer>) -> Board) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("claimstream-board-{}", Uuid::new_v4()));
        std::fs::create_dir_all(&folder)?;
        let url = format!("sqlite://{}", folder.join("board.db").display());
        let outbox = SeaOrmOutbox::open(&url, OpenOptions::default()).await?;
        let strategy = StrategyChoice::Exactly(Strategy::ShardLease);
        let leasing = SeaOrmOutbox::open(&url, OpenOptions { strategy, ..OpenOptions::default() }).await?;
        let stores = BoardStores::of(Arc::new(outbox.clone()));
        let router = board(stores, Arc::new(TokioTimer::new())).router();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        let mut site = Self { address, outbox, leasing, folder, server, claims: 0 };
        site.fill().await?;
        Ok(site)
    }

    /// Messages in every state, and letters whose every text wants to be a script.
    async fn fill(&mut self) -> Result<(), Failure> {
        let timed_out: Vec<_> = (0..60).map(|number| format!("timed out after {number} ms")).collect();
        self.bury(QUEUE, &timed_out).await?;
        self.bury(QUEUE, &["mailbox full".to_owned()]).await?;
        self.enqueue(QUEUE, 2, Duration::ZERO).await?;
        self.claim(QUEUE, 1).await?;
        self.enqueue(QUEUE, 3, Duration::from_secs(3_600)).await?;
        let hostile = [
            "<script>alert('reason')</script>",
            "\"><img src=x onerror=alert('reason')>",
            "'-alert(1)-' <svg onload=alert('reason')> {{7*7}} javascript:alert(1)",
        ];
        self.bury(HOSTILE, &hostile.map(str::to_owned)).await?;
        self.leave_notes().await?;
        requests::fill(&self.outbox).await?;
        self.lease_a_shard().await?;
        let lease = Lease::new(Duration::from_secs(600))?;
        self.outbox.try_acquire("<script>alert('lock')</script>", lease).await?;
        self.fill_ledger().await
    }

    /// A pause and an entry of the audit log whose every text wants to be a script.
    async fn leave_notes(&self) -> Result<(), Failure> {
        let by = "<svg onload=alert('name')>";
        let note = PauseNote::new(by, Some("<script>alert('pause')</script>"))?;
        self.outbox.pause(&QueueName::new(HOSTILE)?, &note).await?;
        let subject = "queue <script>alert('subject')</script>";
        self.outbox.note_action(&AuditEntry::new(by, AuditAction::Pause, subject)?).await?;
        Ok(())
    }

    /// The queues that are paused, by name.
    pub async fn paused(&self) -> Result<Vec<String>, Failure> {
        let paused = self.outbox.paused().await?;
        Ok(paused.into_iter().map(|paused| paused.queue.to_string()).collect())
    }

    async fn lease_a_shard(&self) -> Result<(), Failure> {
        self.enqueue(LEASED, 2, Duration::ZERO).await?;
        let instance = InstanceId(8);
        let request = ClaimRequest {
            queue: QueueName::new(LEASED)?,
            limit: 2,
            budget: ByteBudget::new(1 << 20)?,
            lease: Lease::new(Duration::from_secs(600))?,
            claim: ClaimId::new(instance, 1),
            owner: Owner::new(instance, "<script>alert('holder')</script>")?,
            runs: None,
        };
        match self.leasing.claim(&request).await?.len() {
            2 => Ok(()),
            claimed => Err(format!("{claimed} messages were claimed under a lease").into()),
        }
    }

    /// How many shards of the leased queue are held.
    pub async fn held_shards(&self) -> Result<usize, Failure> {
        let leases = self.outbox.leases_of(&QueueName::new(LEASED)?).await?;
        Ok(leases.iter().filter(|lease| lease.holder.is_some()).count())
    }

    /// Sagas, TCC transactions and timers, whose every text wants to be a script where a name may be any text.
    async fn fill_ledger(&mut self) -> Result<(), Failure> {
        let scope = "saga:<script>alert('saga')</script>";
        for (number, step) in [(1, "<svg onload=alert('step')>"), (2, "debit")] {
            let (id, owner) = (SagaId::new(Uuid::from_u128(number)), "<img src=x onerror=alert('owner')>");
            let tx = self.outbox.begin_tx().await?;
            let input = serde_json::json!({"amount": 7});
            let saga =
                NewSaga { scope: scope.into(), id, owner: owner.into(), input: input.to_string().into() };
            self.outbox.note(&tx, &saga).await?;
            for (step, state) in [("", 1), (step, 1)] {
                StepLedger::begin(
                    &self.outbox,
                    &tx,
                    &NewStep::new(StepKey::new(scope, &id.to_string(), step)?, state),
                )
                .await?;
            }
            self.outbox.commit_tx(tx).await?;
            let order = SagaOrder { order: SagaOrderKind::Check, saga: id, owner: owner.into(), input };
            let check = order.message(QueueName::new(scope)?)?;
            let is_dead = number == 2;
            let check = if is_dead { check } else { check.deliver_after(Duration::from_secs(3_600)) };
            self.outbox.enqueue_now(&[check]).await?;
            if is_dead {
                let claimed = self.claim(scope, 1).await?;
                let disposition = Disposition::dead(Reason::new("<script>alert('broken')</script>"));
                let settlements = claimed
                    .into_iter()
                    .map(|receipt| Settlement { receipt, disposition: disposition.clone() });
                self.outbox.settle(&settlements.collect::<Vec<_>>()).await?;
            }
        }
        let tick = Tick { scheme: "monthly-bill".parse()?, occurrence: "2020-01-01T00:00:00Z".parse()? };
        self.outbox.enqueue_now(&[tick.message(&QueueName::new("<b>timers</b>")?)?]).await?;
        let tx = self.outbox.begin_tx().await?;
        for (scope, run, step, state) in [
            ("tcc-global", "<script>alert('order')</script>", "", 1),
            ("tcc", "<script>alert('order')</script>", "<svg onload=alert('branch')>", 0),
            ("timer:monthly-bill", "2020-01-01T00:00:00Z", "", 0),
            ("timer:monthly-bill", "2020-01-01T00:00:00Z", "decision:close-month", 1),
        ] {
            StepLedger::begin(&self.outbox, &tx, &NewStep::new(StepKey::new(scope, run, step)?, state))
                .await?;
        }
        Ok(self.outbox.commit_tx(tx).await?)
    }

    /// The address of a page.
    pub fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many messages of a queue are dead, and how many are due.
    pub async fn dead_and_due(&self, queue: &str) -> Result<(u64, u64), Failure> {
        let status = self.outbox.observe().await?;
        let found = status.iter().find(|status| status.queue.as_str() == queue);
        Ok(found.map_or((0, 0), |status| (status.dead, status.due)))
    }

    /// Buries a message for each of these reasons, in a queue with nothing due.
    pub async fn bury(&mut self, queue: &str, reasons: &[String]) -> Result<(), Failure> {
        self.enqueue(queue, reasons.len(), Duration::ZERO).await?;
        let claimed = self.claim(queue, reasons.len()).await?;
        let settlements: Vec<_> = claimed
            .into_iter()
            .zip(reasons)
            .map(|(receipt, reason)| Settlement {
                receipt,
                disposition: Disposition::dead(Reason::new(reason)),
            })
            .collect();
        if settlements.len() != reasons.len() {
            return Err(
                format!("{} messages were claimed for {} reasons", settlements.len(), reasons.len()).into()
            );
        }
        self.outbox.settle(&settlements).await?;
        Ok(())
    }

    /// Enqueues a message with a dedup key that wants to be a script, and answers its id.
    pub async fn enqueue_unique(&self, key: &str) -> Result<String, Failure> {
        let id = MessageId::new(Uuid::new_v4());
        let message = NewMessage::new(id, QueueName::new(QUEUE)?, Payload::json("1"));
        self.outbox.enqueue_now(&[message.unique_by(key.parse()?)]).await?;
        Ok(id.to_string())
    }

    /// Keeps others from writing to the database for as long as the answer is kept.
    pub async fn hold(&self) -> Result<impl Sized + use<>, Failure> {
        let tx = self.outbox.begin().await?;
        let id = MessageId::new(Uuid::new_v4());
        let message = NewMessage::new(id, QueueName::new("other")?, Payload::json("1"));
        self.outbox.enqueue(&tx, &[message]).await?;
        Ok(tx)
    }

    /// The same, from when this action has an entry in the audit log.
    pub async fn hold_after(&self, action: &str) -> Result<impl Sized + use<>, Failure> {
        while !self.outbox.entries(None, 1).await?.iter().any(|entry| entry.action == action) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.hold().await
    }

    async fn enqueue(&self, queue: &str, count: usize, delay: Duration) -> Result<(), Failure> {
        let mut headers = Headers::new();
        headers.insert("x-recipient", "<script>alert('header')</script>ann@example.com")?;
        let message = || -> Result<NewMessage, Failure> {
            let payload = Payload::new(
                "text/<svg/onload=alert(1)>",
                b"<script>alert('payload')</script>secret".to_vec(),
            )?;
            let message = NewMessage::new(MessageId::new(Uuid::new_v4()), QueueName::new(queue)?, payload);
            let message = message.with_headers(headers.clone()).ordered_by("<b>key</b>".parse()?);
            Ok(if delay.is_zero() { message } else { message.deliver_after(delay) })
        };
        let messages: Vec<_> = (0..count).map(|_| message()).collect::<Result<_, _>>()?;
        self.outbox.enqueue_now(&messages).await?;
        Ok(())
    }

    async fn claim(&mut self, queue: &str, count: usize) -> Result<Vec<Receipt>, Failure> {
        self.claims += 1;
        let instance = InstanceId(7);
        let request = ClaimRequest {
            queue: QueueName::new(queue)?,
            limit: u32::try_from(count)?,
            budget: ByteBudget::new(1 << 20)?,
            lease: Lease::new(Duration::from_secs(600))?,
            claim: ClaimId::new(instance, self.claims),
            owner: Owner::of_process(instance, 1),
            runs: None,
        };
        Ok(self.outbox.claim(&request).await?.into_iter().map(|claimed| claimed.receipt).collect())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
