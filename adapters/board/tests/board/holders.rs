//! Promise: the board lists instances, leases and locks page by page; a release has a preview, happens once
//! and only under the fence that was shown

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use axum::http::StatusCode;
use claimstream_board::{Board, BoardStores};
use claimstream_domain::{
    ByteBudget, ClaimId, ClaimRequest, InstanceId, InstanceListed, Lease, LeaseListed, LeaseRelease,
    LeaseShown, LockListed, MessageId, NewMessage, Owner, Payload, QueueName, Shard,
};
use claimstream_memory::MemoryStore;
use claimstream_ports::{
    DistributedLock, Enqueue, ListInstances, ListLocks, LockGuard, LockingStrategy, ReleaseLeases,
    StoreError, StoreErrorKind, Transactions,
    mock::{MockDeadLetters, MockObserve},
};
use uuid::Uuid;

use crate::browser::{Browser, TwoTokens, timer};

const QUEUE: &str = "orders&<i>";
const HOLDER: &str = "<script>relay</script>";
const FORM: &str = "queue=orders%26%3Ci%3E&shard=3&fence=7";

/// A store with leases, of which one is held; its locks are those of the memory store.
#[derive(Clone)]
struct Leased {
    memory: MemoryStore,
    leases: Arc<Mutex<Vec<LeaseListed>>>,
    /// What was released, with the names of the operators.
    released: Arc<Mutex<Vec<String>>>,
    fails: bool,
}

impl Leased {
    fn new() -> Self {
        let lease = |shard, holder: Option<&str>| LeaseListed {
            queue: QueueName::new(QUEUE).unwrap(),
            shard: Shard::from_number(shard),
            holder: holder.map(str::to_owned),
            fence: 7,
            ends_in: holder.map(|_| Duration::from_secs(21)),
            in_flight: if holder.is_some() { 1_200 } else { 0 },
        };
        let leases = vec![lease(2, None), lease(3, Some(HOLDER))];
        Self {
            memory: MemoryStore::with_manual_clock(),
            leases: Arc::new(Mutex::new(leases)),
            released: Arc::default(),
            fails: false,
        }
    }

    fn stores(&self) -> BoardStores {
        let none = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
        none.with_holders(Arc::new(self.clone()))
    }

    fn browser(&self) -> Browser {
        Browser::of(Board::for_everyone(self.stores(), timer()).router())
    }

    fn released(&self) -> Vec<String> {
        self.released.lock().unwrap().clone()
    }
}

#[async_trait]
impl ListInstances for Leased {
    async fn instances(
        &self,
        after: Option<InstanceId>,
        limit: u32,
    ) -> Result<Vec<InstanceListed>, StoreError> {
        let first = after.map_or(0, |InstanceId(id)| id + 1);
        let one =
            |id| InstanceListed { id: InstanceId(id), label: HOLDER.into(), seen: Duration::from_secs(61) };
        Ok((first..70).take(limit as usize).map(one).collect())
    }

    async fn leases(
        &self,
        after: Option<(QueueName, Shard)>,
        limit: u32,
    ) -> Result<Vec<LeaseListed>, StoreError> {
        let of_many = |shard| LeaseListed {
            shard: Shard::from_number(shard),
            ..self.leases.lock().unwrap()[0].clone()
        };
        match after {
            Some((_, shard)) => Ok((shard.number() + 1..60).take(limit as usize).map(of_many).collect()),
            None => Ok((0..60).take(limit as usize).map(of_many).collect()),
        }
    }

    async fn leases_of(&self, queue: &QueueName) -> Result<Vec<LeaseListed>, StoreError> {
        let all = self.leases.lock().unwrap();
        Ok(all.iter().filter(|lease| lease.queue == *queue).cloned().collect())
    }
}

#[async_trait]
impl ReleaseLeases for Leased {
    async fn lease(&self, queue: &QueueName, shard: Shard) -> Result<Option<LeaseShown>, StoreError> {
        let all = self.leases.lock().unwrap();
        let found = all.iter().find(|lease| lease.queue == *queue && lease.shard == shard);
        Ok(found.map(|lease| LeaseShown { lease: lease.clone(), oldest: Some(Duration::from_secs(200)) }))
    }

    async fn release_lease(
        &self,
        queue: &QueueName,
        shard: Shard,
        fence: i64,
        by: &str,
    ) -> Result<LeaseRelease, StoreError> {
        if self.fails {
            return Err(StoreError::new(StoreErrorKind::Transient, "release lease", "locked on db-7"));
        }
        self.released.lock().unwrap().push(format!("{queue}/{} {fence} {by}", shard.number()));
        let mut all = self.leases.lock().unwrap();
        let found = all.iter_mut().find(|lease| lease.shard == shard && lease.fence == fence);
        let Some(lease) = found.filter(|lease| lease.holder.is_some()) else {
            return Ok(LeaseRelease::Changed);
        };
        (lease.holder, lease.fence) = (None, fence + 1);
        Ok(LeaseRelease::Released { cut_off: 1_200 })
    }
}

#[async_trait]
impl ListLocks for Leased {
    async fn locks(&self, after: Option<String>, limit: u32) -> Result<Vec<LockListed>, StoreError> {
        self.memory.locks(after, limit).await
    }
}

#[async_trait]
impl DistributedLock for Leased {
    async fn try_acquire(&self, key: &str, lease: Lease) -> Result<Option<LockGuard>, StoreError> {
        self.memory.try_acquire(key, lease).await
    }

    async fn renew(&self, guard: &LockGuard, lease: Lease) -> Result<bool, StoreError> {
        self.memory.renew(guard, lease).await
    }

    async fn release(&self, guard: LockGuard) -> Result<bool, StoreError> {
        self.memory.release(guard).await
    }
}

#[tokio::test(start_paused = true)]
async fn instances_are_listed_page_by_page_and_their_labels_are_text() {
    let browser = Leased::new().browser();
    let page = browser.get("/instances").await;
    assert!(page.shows("<a href=\"/instances\">Instances</a>"), "every page links to it: {}", page.text);
    assert!(
        page.shows("<bdi>&#60;script&#62;relay&#60;/script&#62;</bdi>") && !page.shows("<script"),
        "{}",
        page.text
    );
    assert!(page.shows("<code>0000000000000031</code>") && page.shows("1m 1s ago"), "{}", page.text);
    assert!(!page.shows("0000000000000032") && page.shows("href=\"/instances?after=0000000000000031\""));
    let next = browser.get("/instances?after=0000000000000031").await;
    assert!(
        next.shows("0000000000000032") && !next.shows("Next page") && next.shows("First page"),
        "{}",
        next.text
    );
    assert_eq!(browser.get("/instances?after=x").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn instances_of_a_store_are_shown() {
    let store = MemoryStore::new();
    let browser = Browser::on(&store);
    assert!(
        browser.get("/instances").await.shows(
            "No instance is listed. Relays under <code>shard_lease</code> stand in the list of leases."
        )
    );
    assert!(browser.get("/leases").await.shows("only the strategy <code>shard_lease</code> makes them"));
    assert!(browser.get("/locks").await.shows("There are none."));
    let queue = QueueName::new("orders").unwrap();
    let message = NewMessage::new(MessageId::new(Uuid::new_v4()), queue.clone(), Payload::json("1"));
    let tx = store.begin_tx().await.unwrap();
    store.enqueue(&tx, &[message]).await.unwrap();
    store.commit_tx(tx).await.unwrap();
    let me = InstanceId(0xabc);
    let request = ClaimRequest {
        queue,
        limit: 1,
        budget: ByteBudget::default(),
        lease: Lease::default(),
        claim: ClaimId::new(me, 1),
        owner: Owner::new(me, "night").unwrap(),
        runs: None,
    };
    assert_eq!(store.claim(&request).await.unwrap().len(), 1);
    let page = browser.get("/instances").await;
    assert!(page.shows("<bdi>night</bdi>") && page.shows("<code>0000000000000abc</code>"), "{}", page.text);
}

#[tokio::test(start_paused = true)]
async fn leases_are_listed_page_by_page_or_for_one_queue() {
    let browser = Leased::new().browser();
    let first = browser.get("/leases").await;
    let place = "href=\"/leases?after=orders%26%3Ci%3E%2F49\"";
    assert!(first.shows(place) && first.shows("<td class=\"number\">49</td>"), "{}", first.text);
    let next = browser.get("/leases?after=orders%26%3Ci%3E%2F49").await;
    assert!(next.shows("<td class=\"number\">59</td>") && !next.shows("Next page"), "{}", next.text);
    let queue = browser.get("/leases?queue=orders%26%3Ci%3E").await;
    assert!(queue.shows("<h1>Leases of <bdi>orders&#38;&#60;i&#62;</bdi></h1>"), "{}", queue.text);
    for shown in
        ["<bdi>&#60;script&#62;relay&#60;/script&#62;</bdi>", "in 21s", "1,200", "none", "Release shard 3 …"]
    {
        assert!(queue.shows(shown), "{shown}: {}", queue.text);
    }
    assert!(!queue.shows("Release shard 2 …"), "it is not held: {}", queue.text);
    for wrong in ["after=orders", "after=orders%2Fx", "queue="] {
        assert_eq!(browser.get(&format!("/leases?{wrong}")).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

/// Guard: a preview names the lease with the fence that was shown | src/pages/release_lease.rs `preview`: the
/// fence is not compared
#[tokio::test(start_paused = true)]
async fn a_lease_is_released_as_its_preview_has_shown_it_and_once() {
    let leased = Leased::new();
    let browser = leased.browser();
    let preview = browser.post("/leases/preview", FORM).await;
    assert_eq!(preview.status, StatusCode::OK, "{preview:?}");
    for shown in [
        "1,200",
        "in 21s, unless",
        "due for 3m 20s",
        "a handler may run twice",
        "<button type=\"submit\">Release the lease</button>",
    ] {
        assert!(preview.shows(shown), "{shown}: {}", preview.text);
    }
    assert!(!preview.shows("<script"), "{}", preview.text);
    assert_eq!(leased.released(), Vec::<String>::new(), "a preview changes nothing");
    let done = browser.post("/leases/release", FORM).await;
    assert!(
        done.status == StatusCode::OK && done.shows("<strong>1,200</strong> messages are due again"),
        "{done:?}"
    );
    assert_eq!(leased.released(), [format!("{QUEUE}/3 7 anonymous")]);
    let again = browser.post("/leases/release", FORM).await;
    assert!(again.status == StatusCode::CONFLICT && again.shows("Nothing was released"), "{again:?}");
    let preview = browser.post("/leases/preview", FORM).await;
    assert_eq!(preview.status, StatusCode::CONFLICT, "it has another fence now: {preview:?}");
    let free = FORM.replace("shard=3", "shard=2");
    assert_eq!(browser.post("/leases/preview", &free).await.status, StatusCode::CONFLICT, "it is not held");
    for wrong in ["", "queue=q&shard=3", "queue=q&shard=-1&fence=7", "queue=&shard=3&fence=7"] {
        assert_eq!(browser.post("/leases/release", wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_store_is_no_release() {
    let browser = Leased { fails: true, ..Leased::new() }.browser();
    let page = browser.post("/leases/release", FORM).await;
    assert!(page.status == StatusCode::SERVICE_UNAVAILABLE && !page.shows("db-7"), "{page:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_released_under_the_fence_that_was_shown() {
    let leased = Leased::new();
    let (browser, key) = (leased.browser(), "jobs/<b>&1");
    let held = leased.memory.try_acquire(key, Lease::default()).await.unwrap().unwrap();
    let page = browser.get("/locks").await;
    assert!(page.shows("<bdi>jobs/&#60;b&#62;&#38;1</bdi>") && page.shows("for 30s more"), "{}", page.text);
    let form = |fence: u64| format!("key=jobs%2F%3Cb%3E%261&fence={fence}");
    let preview = browser.post("/locks/preview", &form(held.fence)).await;
    assert!(
        preview.shows("two are at work at a time") && preview.shows("Release the lock</button>"),
        "{preview:?}"
    );
    let other = browser.post("/locks/release", &form(held.fence + 1)).await;
    assert!(other.status == StatusCode::CONFLICT && other.shows("Nothing was released"), "{other:?}");
    assert_eq!(leased.memory.try_acquire(key, Lease::default()).await.unwrap(), None, "it is still held");
    let done = browser.post("/locks/release", &form(held.fence)).await;
    assert!(done.status == StatusCode::OK && done.shows("is free."), "{done:?}");
    assert!(browser.get("/locks").await.shows("<td>no</td>"), "its row stays");
    assert!(leased.memory.try_acquire(key, Lease::default()).await.unwrap().is_some());
    for n in 0..60 {
        leased.memory.try_acquire(&format!("k{n:02}"), Lease::default()).await.unwrap();
    }
    let first = browser.get("/locks").await;
    assert!(first.shows("href=\"/locks?after=k48\"") && !first.shows("k49"), "{}", first.text);
    assert!(browser.get("/locks?after=k48").await.shows("k59"));
}

/// Guard: a release needs the right to change | src/board.rs `router`: `/leases/release` outside the layer
/// `changing`
#[tokio::test(start_paused = true)]
async fn a_user_who_may_only_look_releases_nothing() {
    let leased = Leased::new();
    let guarded = Browser::of(Board::for_users(leased.stores(), timer(), Arc::new(TwoTokens)).router());
    let read_only = Browser::of(Board::for_everyone(leased.stores(), timer()).read_only().router());
    for browser in [guarded.sign_in("looks").await, read_only] {
        let page = browser.get("/leases?queue=orders%26%3Ci%3E").await;
        assert!(page.status == StatusCode::OK && !page.shows("Release"), "{}", page.text);
        for path in ["/leases/preview", "/leases/release", "/locks/preview", "/locks/release"] {
            assert_eq!(browser.post(path, FORM).await.status, StatusCode::FORBIDDEN, "{path}");
        }
    }
    assert_eq!(leased.released(), Vec::<String>::new());
    let changes = Browser::of(Board::for_users(leased.stores(), timer(), Arc::new(TwoTokens)).router());
    changes.sign_in("changes").await.post("/leases/release", FORM).await;
    assert_eq!(leased.released(), [format!("{QUEUE}/3 7 changes-<b>")], "with the operator's name");
}

#[tokio::test(start_paused = true)]
async fn a_board_on_two_ports_has_no_such_pages() {
    let stores = BoardStores::new(Arc::new(MockObserve::new()), Arc::new(MockDeadLetters::new()));
    let browser = Browser::of(Board::for_everyone(stores, timer()).router());
    for path in ["/instances", "/leases", "/locks"] {
        let page = browser.get(path).await;
        assert!(page.status == StatusCode::NOT_FOUND && !page.shows("Instances"), "{}", page.text);
    }
    for path in ["/leases/preview", "/leases/release", "/locks/release"] {
        assert_eq!(browser.post(path, FORM).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}
