//! Promise: no request is answered 2xx that is not committed; calls share transactions, and one that the
//! store refuses fails alone

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;
use claimstream_ports::StoreErrorKind;
use tokio::{sync::Semaphore, task::JoinHandle};

use super::*;

/// A store whose transactions wait for a permit each, and that refuses what has a certain id.
struct Gate {
    open: Semaphore,
    began: AtomicUsize,
    sizes: Mutex<Vec<usize>>,
    trouble: Trouble,
}

enum Trouble {
    None,
    /// Another transaction takes this request in and does not end.
    Locks(u128),
    Refuses(u128, StoreErrorKind),
    PanicsAt(usize),
}

impl Gate {
    fn closed(trouble: Trouble) -> Arc<Self> {
        Arc::new(Self {
            open: Semaphore::new(0),
            began: AtomicUsize::new(0),
            sizes: Mutex::default(),
            trouble,
        })
    }

    async fn begun(&self, transactions: usize) {
        while self.began.load(SeqCst) < transactions {
            tokio::task::yield_now().await;
        }
    }

    fn sizes(&self) -> Vec<usize> {
        self.sizes.lock().unwrap().clone()
    }
}

#[async_trait]
impl Intake for Gate {
    async fn take(&self, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        let nth = self.began.fetch_add(1, SeqCst);
        self.sizes.lock().unwrap().push(requests.len());
        self.open.acquire().await.unwrap().forget();
        match self.trouble {
            Trouble::PanicsAt(at) if at == nth => panic!("as asked"),
            Trouble::Refuses(id, kind) if requests.iter().any(|r| r.id == Uuid::from_u128(id)) => {
                Err(StoreError::new(kind, "submit", "refused"))
            }
            Trouble::Locks(id) if requests.iter().any(|r| r.id == Uuid::from_u128(id)) => Err(locked()),
            _ => Ok(vec![Submitted::New; requests.len()]),
        }
    }
}

fn locked() -> StoreError {
    StoreError::new(StoreErrorKind::Transient, "submit", BeingTakenIn("waited for 5 s".into()))
}

fn request(id: u128) -> NotificationRequest {
    let json = serde_json::json!({
        "id": Uuid::from_u128(id), "requester": {"type": "service", "id": "shop"},
        "recipients": [{"email": "a@example.com"}], "channels": ["email"], "content": {"title": "Hello"},
    });
    serde_json::from_value(json).unwrap()
}

type Call = JoinHandle<Result<Submitted, IntakeError>>;

fn call(intake: &Arc<GroupCommit>, id: u128) -> Call {
    let intake = Arc::clone(intake);
    tokio::spawn(async move { intake.take(request(id), 100).await })
}

/// One transaction that is under way, and so many requests that wait for the next.
async fn gathered(gate: &Arc<Gate>, waiting: u128) -> (Arc<GroupCommit>, Call, Vec<Call>) {
    let intake = Arc::new(GroupCommit::start(gate.clone(), 1, 1_000));
    let first = call(&intake, 0);
    gate.begun(1).await;
    let calls: Vec<Call> = (1..=waiting).map(|id| call(&intake, id)).collect();
    while Arc::strong_count(&intake.running) < waiting as usize + 2 {
        tokio::task::yield_now().await;
    }
    (intake, first, calls)
}

#[tokio::test]
async fn those_that_arrive_while_one_commits_share_the_next_transaction() {
    let gate = Gate::closed(Trouble::None);
    let (_intake, first, calls) = gathered(&gate, 150).await;
    assert!(calls.iter().all(|call| !call.is_finished()), "an answer came before the commit");
    gate.open.add_permits(9);
    assert_eq!(first.await.unwrap().unwrap(), Submitted::New);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Submitted::New);
    }
    assert_eq!(gate.sizes(), [1, 100, 50]);
}

#[tokio::test]
async fn one_that_the_store_refuses_fails_alone() {
    let gate = Gate::closed(Trouble::Refuses(7, StoreErrorKind::Corrupt));
    let (_intake, _first, calls) = gathered(&gate, 20).await;
    gate.open.add_permits(99);
    for (id, call) in (1..).zip(calls) {
        let answer = call.await.unwrap();
        assert_eq!(answer.is_err(), id == 7, "{id}: {answer:?}");
    }
}

/// Guard: a group with a locked request is split | src/group_commit/mod.rs `write`: no arm for it
#[tokio::test]
async fn one_that_another_transaction_takes_in_is_running_and_its_neighbours_are_taken() {
    let gate = Gate::closed(Trouble::Locks(7));
    let (_intake, _first, calls) = gathered(&gate, 20).await;
    gate.open.add_permits(99);
    for (id, call) in (1..).zip(calls) {
        match call.await.unwrap() {
            Ok(taken) => assert!(id != 7 && taken == Submitted::New),
            Err(refused) => assert!(id == 7 && matches!(refused, IntakeError::InProgress), "{id}: {refused}"),
        }
    }
    assert_eq!(gate.sizes()[..2], [1, 20], "all of them wait once, each other one no more");
    assert_eq!(gate.sizes().len(), 22);
}

#[tokio::test]
async fn trouble_of_the_store_is_the_answer_of_all_after_one_try() {
    let gate = Gate::closed(Trouble::Refuses(7, StoreErrorKind::Unavailable));
    let (_intake, _first, calls) = gathered(&gate, 20).await;
    gate.open.add_permits(99);
    for call in calls {
        assert!(matches!(call.await.unwrap(), Err(IntakeError::Store(_))));
    }
    assert_eq!(gate.sizes(), [1, 20]);
}

/// A store in which another process takes every request in at this moment.
struct Contended;

#[async_trait]
impl Intake for Contended {
    async fn take(&self, _: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError> {
        Err(locked())
    }
}

#[tokio::test]
async fn a_request_that_another_process_takes_in_is_running() {
    let intake = GroupCommit::start(Arc::new(Contended), 1, 9);
    assert!(matches!(intake.take(request(1), 100).await, Err(IntakeError::InProgress)));
}

#[tokio::test]
async fn a_panic_of_the_store_costs_one_group_its_answers() {
    let gate = Gate::closed(Trouble::PanicsAt(0));
    let (_intake, first, calls) = gathered(&gate, 3).await;
    gate.open.add_permits(99);
    assert!(matches!(first.await.unwrap(), Err(IntakeError::Lost)));
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Submitted::New);
    }
}

#[tokio::test]
async fn an_id_is_refused_while_it_runs_and_free_with_its_answer() {
    let gate = Gate::closed(Trouble::None);
    let (intake, first, _) = gathered(&gate, 0).await;
    assert!(matches!(intake.take(request(0), 100).await, Err(IntakeError::InProgress)));
    gate.open.add_permits(2);
    first.await.unwrap().unwrap();
    intake.take(request(0), 100).await.unwrap();
}

#[tokio::test]
async fn a_request_is_carried_out_though_its_caller_went_away_and_its_id_stays_marked() {
    let gate = Gate::closed(Trouble::None);
    let (intake, first, _) = gathered(&gate, 0).await;
    first.abort();
    assert!(first.await.is_err());
    assert!(matches!(intake.take(request(0), 100).await, Err(IntakeError::InProgress)));
    gate.open.add_permits(1);
    intake.finish().await;
    assert!(intake.running.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let gate = Gate::closed(Trouble::None);
    let intake = Arc::new(GroupCommit::start(gate.clone(), 1, 2));
    let first = call(&intake, 0);
    gate.begun(1).await;
    let waiting = [call(&intake, 1), call(&intake, 2)];
    while Arc::strong_count(&intake.running) < 4 {
        tokio::task::yield_now().await;
    }
    assert!(matches!(intake.take(request(3), 100).await, Err(IntakeError::Full)));
    gate.open.add_permits(9);
    first.await.unwrap().unwrap();
    for call in waiting {
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn finishing_answers_what_was_accepted_and_accepts_nothing_more() {
    let gate = Gate::closed(Trouble::None);
    let (intake, _first, calls) = gathered(&gate, 5).await;
    let finishing = tokio::spawn({
        let intake = Arc::clone(&intake);
        async move { intake.finish().await }
    });
    tokio::task::yield_now().await;
    assert!(matches!(intake.take(request(9), 100).await, Err(IntakeError::Stopped)));
    gate.open.add_permits(9);
    finishing.await.unwrap();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), Submitted::New);
    }
}
