//! Requests that fail, and how often they are tried.

use claimstream_domain::{
    Reason, Verdict,
    notification::{Channel, FanOut, RequestStatus},
};
use claimstream_ports::Handler;

use super::{
    super::RequestConfig,
    finish,
    fixture::{REQUEST, claimed_step, down, request, segment, user},
    ports::{Ports, notifications, stands},
};

#[test]
fn what_is_down_is_tried_again_and_the_last_attempt_fails_the_request() {
    let ports = |closing: usize| {
        let mut ports =
            Ports::processing(request(&[Channel::Email], vec![user("a")])).failing(closing, "is down");
        ports.directory.checkpoint();
        ports.directory.expect_users().returning(|_| Err(down("resolve")));
        ports
    };
    assert!(matches!(ports(0).handle(5), Verdict::Nack { after: None, .. }));
    assert!(matches!(ports(1).handle(6), Verdict::Bury { .. }));
}

#[test]
fn a_last_attempt_that_was_cut_off_fails_the_request_without_another_one() {
    let stuck = |status| Ports::with(request(&[Channel::Email], vec![user("a")]), status);
    let verdict = stuck(RequestStatus::Processing).failing(1, "never ended").handle(7);
    assert_eq!(verdict, Verdict::bury("the last attempt never ended"));
    let closed = stuck(RequestStatus::Dispatched).dispatching().handle(7);
    assert_eq!(notifications(closed).len(), 1, "what was closed before the cut is still enqueued");
    assert_eq!(RequestConfig::default().pipeline_retry().max_attempts, 7);
}

#[test]
fn a_failure_that_cannot_be_recorded_leaves_the_request_to_the_spare_attempt() {
    let unclosed = |attempt| {
        let mut ports = Ports::processing(request(&[Channel::Email], vec![user("a")]));
        ports.directory.checkpoint();
        ports.directory.expect_users().returning(|_| Err(down("resolve")));
        ports.requests.expect_note_steps().times(1).returning(|_| Err(down("note")));
        ports.handle(attempt)
    };
    let Verdict::Nack { after: None, reason } = unclosed(6) else { panic!("not put off") };
    assert!(reason.as_str().contains("resolve") && reason.as_str().contains("note"), "{reason}");
    assert!(matches!(unclosed(7), Verdict::Bury { .. }), "there is no attempt after the spare one");
}

#[test]
fn the_spare_attempt_tells_what_the_last_one_said() {
    let ports = Ports::processing(request(&[Channel::Email], vec![user("a")])).failing(1, "is down");
    let mut claimed = claimed_step(FanOut::begin(REQUEST), 7);
    claimed.last_error = Some(Reason::new("the directory is down"));
    assert!(matches!(finish(ports.handler().handle(&claimed)), Verdict::Bury { .. }));
}

#[test]
fn what_was_dispatched_and_comes_again_is_not_acked_while_its_recipients_are_gone() {
    for recipients in [vec![segment("vip")], vec![segment("empty")]] {
        let handle = |attempt| {
            Ports::with(request(&[Channel::Email], recipients.clone()), RequestStatus::Dispatched)
                .handle(attempt)
        };
        assert!(matches!(handle(5), Verdict::Nack { after: None, .. }));
        let Verdict::Bury { reason } = handle(6) else { panic!("not buried") };
        assert!(reason.as_str().contains("pending"), "{reason}");
    }
}

#[test]
fn every_port_that_fails_puts_the_step_off() {
    let good = || Ports::processing(request(&[Channel::Email], vec![user("a")]));
    let nacked = |ports: Ports| matches!(ports.handle(1), Verdict::Nack { after: None, .. });
    let mut ports = good();
    ports.requests.checkpoint();
    ports.requests.expect_read().returning(|_| Err(down("read")));
    assert_eq!(ports.handle(6), Verdict::Release, "nothing was begun");
    assert!(nacked(good().noting(1, |_| Err(down("note")))));
    assert!(nacked(good().noting(1, |_| stands(RequestStatus::Dispatched, &[]))), "a record has no answer");
}
