//! Promise: an unknown segment costs no other recipient its message or its record; all recipients read the
//! same version of a template

use std::sync::Arc;

use claimstream_domain::{
    Payload, Reason, RetryPolicy, Verdict,
    notification::{
        Channel, Content, DeliveryStatus, DirectRecipient, FanOut, FanOutEnd, NotificationRecord, Recipient,
        RecipientReference, RequestStatus, TemplateCall, message_id,
    },
};
use claimstream_ports::{
    Handler,
    notification::{SegmentPage, StepNoted},
};
use serde_json::json;

use super::{
    super::{MESSAGE_QUEUE, REQUEST_QUEUE, RequestConfig, chunk::Chunk},
    finish,
    fixture::{REQUEST, claimed, claimed_step, reachable, request, segment, user},
    ports::{Ports, emitted, kept, notifications, stands},
};

#[test]
fn a1_6_two_users_and_two_directs_on_two_channels_are_six_messages_two_skips_and_eight_in_all() {
    let direct = |direct: DirectRecipient| RecipientReference::Direct(direct);
    let recipients = vec![
        user("a"),
        user("b"),
        direct(DirectRecipient { email: Some("m@example.com".into()), ..DirectRecipient::default() }),
        direct(DirectRecipient { device_token: Some("t".into()), ..DirectRecipient::default() }),
    ];
    let ports = Ports::processing(request(&[Channel::Email, Channel::Push], recipients)).noting(1, |step| {
        let skipped = step.records.iter().filter(|record| record.status == DeliveryStatus::Skipped);
        assert_eq!((step.records.len(), skipped.filter(|record| record.reason.is_some()).count()), (8, 2));
        Ok(kept(step, RequestStatus::Dispatched))
    });
    let sent = notifications(ports.handle(1));
    assert_eq!(sent.len(), 6);
    assert!(sent.iter().all(|m| m.id == message_id(REQUEST, m.channel, &m.recipient)));
}

#[test]
fn a_request_that_is_unknown_or_cancelled_is_acked_and_nothing_is_sent() {
    let mut ports = Ports::with(request(&[Channel::Email], vec![user("a")]), RequestStatus::Cancelled);
    assert_eq!(ports.handle(1), Verdict::ack());
    ports = Ports::processing(request(&[Channel::Email], vec![user("a")]));
    ports.requests.checkpoint();
    ports.requests.expect_read().returning(|_| Ok(vec![None]));
    assert_eq!(ports.handle(1), Verdict::ack());
}

#[test]
fn a_request_that_is_cancelled_or_goes_while_it_is_worked_on_is_acked_and_nothing_is_sent() {
    for status in [Some(RequestStatus::Cancelled), None] {
        let ports = Ports::with(request(&[Channel::Email], vec![user("a")]), RequestStatus::Pending);
        let ports = ports.noting(1, move |_| Ok(StepNoted { status, records: vec![], outdated: false }));
        assert_eq!(ports.handle(1), Verdict::ack());
    }
}

/// Guard: an outdated fan-out step is read again | src/fan_out_attempt.rs `verdict`: no look at `outdated`
#[test]
fn a_request_of_which_a_recipient_is_erased_meanwhile_is_read_again_and_no_attempt_is_counted() {
    let mut read = request(&[Channel::Email], vec![user("a"), user("(erased)")]);
    read.recipients.push(user("(erased)"));
    let ports = Ports::with(read, RequestStatus::Pending).noting(1, |step| {
        assert_eq!(step.erased_places, 2);
        Ok(StepNoted { status: Some(RequestStatus::Pending), records: vec![], outdated: true })
    });
    assert_eq!(ports.handle(6), Verdict::Release);
}

#[test]
fn a_request_that_fails_while_it_is_worked_on_comes_again_and_nothing_is_sent() {
    let ports = Ports::processing(request(&[Channel::Email], vec![user("a")]));
    let ports = ports.noting(1, |step| {
        assert!(!step.takes_up);
        stands(RequestStatus::Failed, &[])
    });
    assert!(matches!(ports.handle(1), Verdict::Nack { after: None, .. }));
}

#[test]
fn a_request_that_has_failed_is_buried_so_that_its_dead_letter_exists() {
    let ports = Ports::with(request(&[Channel::Email], vec![user("a")]), RequestStatus::Failed);
    assert!(matches!(ports.handle(7), Verdict::Bury { .. }));
}

#[test]
fn a_failed_request_was_revived_however_many_processes_died_over_it_and_is_fanned_out() {
    for attempt in [1, 2, 6] {
        let request = request(&[Channel::Email], vec![user("a")]);
        let ports = Ports::with(request, RequestStatus::Failed).noting(1, |step| {
            assert!(step.takes_up);
            Ok(kept(step, RequestStatus::Dispatched))
        });
        assert_eq!(notifications(ports.handle(attempt)).len(), 1, "attempt {attempt}");
    }
}

#[test]
fn a_request_that_was_closed_before_its_ack_enqueues_what_is_pending() {
    let request = request(&[Channel::Email], vec![user("a"), user("b")]);
    let ports = Ports::with(request, RequestStatus::Dispatched).noting(1, |_| {
        stands(RequestStatus::Dispatched, &[DeliveryStatus::Delivered, DeliveryStatus::Pending])
    });
    let sent = notifications(ports.handle(2));
    assert_eq!(sent.iter().map(|m| m.recipient.as_str()).collect::<Vec<_>>(), ["user:b"]);
}

#[test]
fn a_full_chunk_enqueues_its_messages_and_the_next_checkpoint_and_leaves_the_request_open() {
    let ports = Ports::processing(request(&[Channel::Email], vec![user("a"), user("b")]));
    let mut ports = ports.noting(1, |step| {
        assert_eq!(step.end, FanOutEnd::More);
        Ok(kept(step, RequestStatus::Processing))
    });
    ports.config.chunk = 1;
    let emit = emitted(ports.handle(1));
    assert_eq!(emit.iter().map(|m| m.queue.as_str()).collect::<Vec<_>>(), [MESSAGE_QUEUE, REQUEST_QUEUE]);
    assert!(emit.iter().all(|message| message.headers.get("x-trace") == Some("t-1")));
    let next: FanOut = serde_json::from_slice(emit[1].payload.bytes()).unwrap();
    assert_eq!(next, FanOut::begin(REQUEST).past(1));
}

#[test]
fn the_first_step_fixes_the_version_of_the_template_for_all_others() {
    let version = |number: u32| {
        let texts = json!({"email": {"en": {"body": format!("version {number}")}}});
        let version =
            json!({"id": "t", "number": number, "template": {"default_language": "en", "texts": texts}});
        Some(Arc::new(serde_json::from_value(version).unwrap()))
    };
    let ports = |published: u32| {
        let mut request = request(&[Channel::Email], vec![user("a"), user("b")]);
        request.content = None;
        request.template = Some(TemplateCall { id: "t".into(), params: [].into() });
        let mut ports =
            Ports::processing(request).noting(1, |step| Ok(kept(step, RequestStatus::Processing)));
        ports.config.chunk = 1;
        ports.templates.expect_published().returning(move |_| Ok(version(published)));
        ports.templates.expect_version().returning(move |_, number| Ok(version(number)));
        ports
    };
    let emit = emitted(ports(2).handle(1));
    let next: FanOut = serde_json::from_slice(emit[1].payload.bytes()).unwrap();
    assert_eq!(next, FanOut::begin(REQUEST).past(1).with_template(Some(2)));
    // Version 3 is published before the second step.
    let second = finish(ports(3).handler().handle(&claimed_step(next, 1)));
    assert_eq!(notifications(second)[0].content.body.as_deref(), Some("version 2"));
}

#[test]
fn an_unknown_user_is_recorded_as_skipped_on_every_channel() {
    let channels = [Channel::Email, Channel::InApp];
    let ports = Ports::processing(request(&channels, vec![user("unknown")])).noting(1, |step| {
        let why = |r: &NotificationRecord| (r.channel, r.status, r.reason.clone());
        let why: Vec<_> = step.records.iter().map(why).collect();
        let skipped = |channel| (channel, DeliveryStatus::Skipped, Some(Reason::new("unknown user")));
        assert_eq!(why, [skipped(Channel::Email), skipped(Channel::InApp)]);
        Ok(kept(step, RequestStatus::Dispatched))
    });
    assert_eq!(ports.handle(1), Verdict::ack());
}

#[test]
fn a1_10_a_request_to_nothing_but_an_unknown_segment_fails_and_is_acked() {
    let ports = Ports::processing(request(&[Channel::Email], vec![segment("vip")]));
    assert_eq!(ports.failing(1, "unknown segment \"vip\"").handle(1), Verdict::ack());
}

#[test]
fn an_unknown_segment_costs_no_other_recipient_its_message_or_record() {
    let all = vec![user("a"), segment("vip"), user("z"), user("b")];
    let ports = Ports::processing(request(&[Channel::Email], all)).noting(1, |step| {
        assert_eq!(
            (&step.end, &step.flaw),
            (&FanOutEnd::Done, &Some(Reason::new("unknown segment \"vip\"")))
        );
        let stands: Vec<_> = step.records.iter().map(|r| (r.recipient.as_str(), r.status)).collect();
        let pending = DeliveryStatus::Pending;
        let expected = [("user:a", pending), ("user:b", pending), ("user:z", DeliveryStatus::Skipped)];
        assert_eq!(stands[..3], expected);
        assert_eq!(stands[3..], [("segment:vip", DeliveryStatus::Failed)]);
        Ok(kept(step, RequestStatus::Dispatched))
    });
    assert_eq!(notifications(ports.handle(1)).len(), 2);
}

#[test]
fn a_segment_that_was_unknown_when_the_request_was_dispatched_does_not_hold_it_up() {
    let handle = |known: Option<DeliveryStatus>| {
        let request = request(&[Channel::Email], vec![user("a"), segment("vip")]);
        let mut ports = Ports::with(request, RequestStatus::Dispatched);
        ports.messages.expect_status().returning(move |ids| Ok(vec![known; ids.len()]));
        let ports = ports.noting(known.iter().count(), |step| Ok(kept(step, RequestStatus::Dispatched)));
        ports.handle(5)
    };
    assert_eq!(notifications(handle(Some(DeliveryStatus::Failed))).len(), 1);
    assert!(matches!(handle(None), Verdict::Nack { .. }), "its members may be pending");
}

#[test]
fn a_request_without_a_recipient_fails_and_is_never_dispatched_with_nothing() {
    let ports = Ports::processing(request(&[Channel::Email], vec![segment("empty")]));
    assert_eq!(ports.failing(1, "no recipients").handle(1), Verdict::ack());
}

#[test]
fn an_empty_rest_after_a_full_chunk_is_no_failure() {
    let ports = Ports::processing(request(&[Channel::Email], vec![segment("empty")])).dispatching();
    let claimed = claimed_step(FanOut::begin(REQUEST).after("u-1".into()), 1);
    assert_eq!(finish(ports.handler().handle(&claimed)), Verdict::ack());
}

#[test]
fn a_recipient_that_is_named_twice_gets_one_message_on_each_channel() {
    let twice = request(&[Channel::Email, Channel::Push], vec![user("a"), user("a")]);
    assert_eq!(notifications(Ports::processing(twice).dispatching().handle(1)).len(), 2);
}

#[test]
fn a_missing_template_is_a_recorded_skip() {
    let mut templated = request(&[Channel::Email], vec![user("a")]);
    templated.content = None;
    templated.template = Some(TemplateCall { id: "t".into(), params: [].into() });
    let mut ports = Ports::processing(templated).dispatching();
    ports.templates.expect_published().times(1).returning(|_| Ok(None));
    assert_eq!(ports.handle(1), Verdict::ack());
}

#[test]
fn a_record_that_can_no_longer_be_sent_is_settled_as_failed() {
    let mut templated = request(&[Channel::Email], vec![user("a")]);
    templated.content = None;
    templated.template = Some(TemplateCall { id: "t".into(), params: [].into() });
    let ports = Ports::processing(templated);
    let mut ports = ports.noting(1, |_| stands(RequestStatus::Dispatched, &[DeliveryStatus::Pending]));
    ports.templates.expect_published().returning(|_| Ok(None));
    let conclude = ports.messages.expect_conclude().times(1);
    conclude.withf(|outcomes| outcomes[0].status == DeliveryStatus::Failed && outcomes[0].reason.is_some());
    conclude.returning(|_| Ok(()));
    assert_eq!(ports.handle(2), Verdict::ack());
}

#[test]
fn a_payload_that_is_no_checkpoint_is_buried() {
    let ports = Ports::processing(request(&[Channel::Email], vec![]));
    let claimed = claimed(REQUEST_QUEUE, Payload::json("[]"), 1);
    assert!(matches!(finish(ports.handler().handle(&claimed)), Verdict::Bury { .. }));
}

#[test]
fn the_defaults_are_thirty_seconds_to_half_an_hour_six_times_and_bad_ones_are_refused() {
    let good = RequestConfig::default();
    assert_eq!((good.chunk, good.retry.max_attempts), (1_000, 6));
    assert_eq!((good.retry.base.as_secs(), good.retry.cap.as_secs()), (30, 1_800));
    let refused = |config: RequestConfig| config.check().unwrap_err().to_string();
    assert!(refused(RequestConfig { chunk: 0, ..good.clone() }).contains("1 to 10000"));
    let retry = RetryPolicy { max_attempts: 0, ..RetryPolicy::default() };
    assert!(refused(RequestConfig { retry, ..good }).contains("at least 1"));
}

#[test]
fn a_record_says_where_it_stands() {
    let ports = Ports::processing(request(&[Channel::Sms], vec![user("a")])).noting(1, |step| {
        let expected = NotificationRecord {
            id: message_id(REQUEST, Channel::Sms, &Recipient::user("a").key),
            request_id: REQUEST,
            channel: Channel::Sms,
            recipient: "user:a".into(),
            status: DeliveryStatus::Skipped,
            reason: Some(Reason::new("the recipient has no address for sms")),
            reference: None,
        };
        assert_eq!(step.records, [expected]);
        Ok(kept(step, RequestStatus::Dispatched))
    });
    assert_eq!(ports.handle(1), Verdict::ack());
}

#[test]
fn a_member_that_cannot_be_read_costs_no_other_its_message() {
    let ports = of_wrong_member().noting(1, |step| {
        let records: Vec<_> =
            step.records.iter().map(|record| (record.recipient.as_str(), record.status)).collect();
        assert_eq!(records, [("user:a", DeliveryStatus::Pending), ("user:b", DeliveryStatus::Failed)]);
        let why = Reason::new("the entry in the directory cannot be read");
        assert_eq!((&step.records[1].reason, &step.flaw), (&Some(why.clone()), &Some(why)));
        Ok(kept(step, RequestStatus::Dispatched))
    });
    assert_eq!(emitted(ports.handle(1)).len(), 1);
}

/// It was pending when an earlier attempt recorded it and enqueued nothing.
#[test]
fn a_recorded_member_that_cannot_be_read_any_more_ends_as_failed() {
    let mut ports = of_wrong_member().noting(1, |_| {
        stands(RequestStatus::Processing, &[DeliveryStatus::Pending, DeliveryStatus::Pending])
    });
    let conclude = ports.messages.expect_conclude().times(1);
    conclude.withf(|outcomes| outcomes.len() == 1 && outcomes[0].status == DeliveryStatus::Failed);
    conclude.returning(|_| Ok(()));
    assert_eq!(emitted(ports.handle(2)).len(), 1);
}

/// A request to a segment of `a` and of `b`, whose entry cannot be read.
fn of_wrong_member() -> Ports {
    let mut ports = Ports::processing(request(&[Channel::Email], vec![segment("all")]));
    ports.directory.checkpoint();
    ports.directory.expect_members().returning(|_, _, _| {
        let unreadable = vec!["b".to_owned()];
        Ok(Some(SegmentPage { members: vec![reachable("a")], unreadable, next: None }))
    });
    ports
}

/// Guard: a fan-out step of long messages is short | src/request_handler.rs `find`: the configured chunk
#[test]
fn a_long_text_is_written_to_few_recipients_at_a_time() {
    let mut long = request(&[Channel::Email], vec![segment("all")]);
    let html = Some("x".repeat(Content::MAX_HTML_BYTES));
    long.content = Some(Content { title: Some("Hello".into()), html, ..Content::default() });
    let mut ports = Ports::processing(long).noting(1, |step| Ok(kept(step, RequestStatus::Processing)));
    ports.directory.checkpoint();
    ports.directory.expect_members().returning(|_, _, limit| {
        let members = (0..limit).map(|n| reachable(&n.to_string())).collect();
        Ok(Some(SegmentPage { members, next: Some("more".into()), ..SegmentPage::default() }))
    });
    let emitted = emitted(ports.handle(1));
    let bytes: usize = emitted.iter().map(|message| message.payload.bytes().len()).sum();
    assert!(emitted.len() > 2 && bytes < 32 << 20, "{} messages of {bytes} bytes", emitted.len());
}

#[test]
fn long_messages_make_a_chunk_short_and_never_empty() {
    let mut long = request(&[Channel::Email], vec![user("a")]);
    assert_eq!(Chunk::limit(&long, 1_000), 1_000);
    let html = "x".repeat(Content::MAX_HTML_BYTES);
    long.content = Some(Content { html: Some(html), ..Content::default() });
    assert_eq!(Chunk::limit(&long, 1_000), 63);
    long.channels = Channel::ALL.to_vec();
    assert_eq!(Chunk::limit(&long, 1_000), 10);
    let call = TemplateCall { id: "t".into(), params: [("a".into(), "x".repeat(64 << 20))].into() };
    (long.content, long.template) = (None, Some(call));
    assert_eq!(Chunk::limit(&long, 1_000), 1);
}
