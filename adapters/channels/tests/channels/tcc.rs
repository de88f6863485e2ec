use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream::{Relay, RelayConfig, RetryPolicy, StoreError, in_transaction, work};
use claimstream_channels::{HttpParticipant, WebhookConfig};
use claimstream_memory::MemoryStore;
use claimstream_steps::tcc::{
    Branch, BranchCallKey, BranchState, Coordinator, CoordinatorConfig, GlobalId, GlobalState,
    GlobalTransaction, Operation, Tcc, TccError,
};
use claimstream_tokio::TokioTimer;
use futures::FutureExt;
use serde_json::json;

use crate::message::LONG;
use crate::web_server::{Answer, Received, WebServer};

/// A service with a database of its own, which keeps branches as its requests ask.
#[derive(Clone)]
struct Service {
    store: Arc<MemoryStore>,
    short: bool,
    effects: Arc<Mutex<Vec<Operation>>>,
    lost: Arc<Mutex<HashSet<String>>>,
}

impl Service {
    fn new(short: bool) -> Self {
        Self { store: Arc::new(MemoryStore::new()), short, effects: Arc::default(), lost: Arc::default() }
    }

    /// Carries a request out, and loses its first reply.
    async fn answer(self, request: Received) -> Answer {
        let key = request.header("idempotency-key").expect("a key").to_owned();
        let code = match self.carry_out(&key.parse().expect("a key of ours")).await {
            Ok(()) => 200,
            Err(TccError::Refused(_) | TccError::Effect(_)) => 409,
            Err(_) => 503,
        };
        match self.lost.lock().expect("no panic elsewhere").insert(key) {
            true => Answer::Close,
            false => Answer::Status(code, &[]),
        }
    }

    async fn carry_out(&self, key: &BranchCallKey) -> Result<(), TccError<StoreError>> {
        let (tcc, timer) = (Tcc::new(self.store.clone()), TokioTimer::new());
        let effect = || async {
            if self.short {
                use claimstream::StoreErrorKind::Conflict;
                return Err(StoreError::new(Conflict, "reserve", "there are no coupons left"));
            }
            self.effects.lock().expect("no panic elsewhere").push(key.operation);
            Ok(())
        };
        let (gid, branch) = (&key.gid, &key.branch);
        in_transaction(&*self.store, &timer, |tx| {
            let (tcc, effect) = (&tcc, &effect);
            work(
                async move {
                    match key.operation {
                        Operation::Try => tcc.try_(tx, gid, branch, |_| effect()).await,
                        Operation::Confirm => tcc.confirm(tx, gid, branch, |_| effect()).await.map(|_| ()),
                        Operation::Cancel => tcc.cancel(tx, gid, branch, |_| effect()).await.map(|_| ()),
                    }
                }
                .boxed(),
            )
        })
        .await
    }

    async fn state(&self, gid: &GlobalId) -> Option<BranchState> {
        let (tcc, branch) = (Tcc::new(self.store.clone()), "coupon".parse().expect("a name"));
        let state = tcc.state(&self.store.begin(), gid, &branch).await;
        state.expect("a state")
    }
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Drives one transaction with the service behind HTTP to its end.
async fn drive(service: &Service) -> (GlobalId, GlobalState, WebServer) {
    let answering = service.clone();
    let server = WebServer::answering(move |request| answering.clone().answer(request).boxed()).await;
    let gateway = Some(server.url("/coupons").parse().expect("a URL"));
    let (connect_timeout, timeout) = (LONG, LONG);
    let config = WebhookConfig {
        gateway,
        environment_proxies: false,
        connect_timeout,
        timeout,
        ..WebhookConfig::default()
    };
    let retry = RetryPolicy {
        base: Duration::from_millis(1),
        cap: Duration::from_millis(5),
        ..CoordinatorConfig::default().retry
    };
    let (store, timer) = (Arc::new(MemoryStore::new()), Arc::new(TokioTimer::new()));
    let coordinator = CoordinatorConfig { retry: retry.clone(), ..CoordinatorConfig::default() };
    let coordinator = Coordinator::new(store.clone(), timer, coordinator).expect("a coordinator");
    let participant = HttpParticipant::new(config).expect("a participant").traced_by(|| Some(TRACE.into()));
    let coordinator = coordinator.with("coupon", participant);
    let coordinator = coordinator.expect("a free name");
    let coordinator = Arc::new(coordinator);

    let gid = GlobalId::new("order-7").expect("an id");
    let branch = Branch::new("coupon", json!({"code": "A1"})).expect("a branch");
    let order = GlobalTransaction::new(gid.clone(), [branch]).expect("a transaction");
    let tx = store.begin();
    coordinator.begin(&tx, &order).await.expect("begin");
    tx.commit();

    let relay = Relay::new(store, TokioTimer::new(), RelayConfig { retry, ..RelayConfig::default() });
    let ended = async {
        loop {
            match coordinator.state(&gid).await.expect("a state").expect("a transaction") {
                state if state.is_final() => return state,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let pipeline = relay.shared_pipeline("tcc", coordinator.clone()).expect("a pipeline");
    let (sender, receiver) = futures::channel::oneshot::channel();
    let watch = async { sender.send(ended.await).expect("the receiver is there") };
    pipeline.run_until(watch).await.expect("a report");
    (gid, receiver.await.expect("a state"), server)
}

#[tokio::test]
async fn a3_6_a_branch_behind_http_takes_effect_once_although_every_first_reply_is_lost() {
    let service = Service::new(false);
    let (gid, state, server) = drive(&service).await;
    assert_eq!(state, GlobalState::Confirmed);
    assert_eq!(service.state(&gid).await, Some(BranchState::Confirmed));
    assert_eq!(*service.effects.lock().unwrap(), [Operation::Try, Operation::Confirm]);
    let calls = server.received();
    assert_eq!(calls.len(), 4, "each call came twice");
    assert!(calls.iter().all(|call| call.header("traceparent") == Some(TRACE)), "the trace goes on");
}

#[tokio::test]
async fn a3_6_a_branch_behind_http_that_refuses_is_an_empty_rollback() {
    let service = Service::new(true);
    let (gid, state, _server) = drive(&service).await;
    assert_eq!(state, GlobalState::Cancelled);
    assert_eq!(service.state(&gid).await, Some(BranchState::EmptyRollback));
    assert!(service.effects.lock().unwrap().is_empty());
}
