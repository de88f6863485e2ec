use std::time::Duration;

use claimstream_domain::{
    DedupKey,
    Enqueued::{Duplicate, New},
    Headers, MessageId, NewMessage, OrderingKey, Payload,
    Settled::Accepted,
};

use crate::suite::{Case, cases};
use crate::{Fixture, Instance};

pub const CLAUSES: &[Case<Fixture>] = cases!["enqueue" needs [Claims, Settlements, Unguarded]:
    a_committed_message_exists,
    a_rolled_back_message_leaves_nothing needs [Store],
    a_dropped_transaction_leaves_nothing needs [Store],
    messages_of_one_transaction_exist_together needs [Store],
    each_message_is_answered_in_order needs [Store],
    an_enqueue_of_nothing_answers_nothing needs [Store],
    many_messages_in_one_call_all_arrive,
    an_enqueue_of_unknown_outcome_can_be_repeated needs [Store],
    two_messages_of_one_id_in_a_call_are_one needs [Store],
    a_known_message_with_another_dedup_key_leaves_that_key_free needs [Store],
    a_dedup_key_is_taken_once_across_calls needs [Store],
    a_dedup_key_is_taken_once_within_a_call needs [Store],
    a_dedup_key_is_taken_once_within_a_transaction needs [Store],
    a_duplicate_leaves_no_trace needs [Store],
    a_rolled_back_dedup_key_is_free_again needs [Store],
    a_dedup_key_outlives_its_message needs [Store],
    a_dedup_key_holds_in_its_queue_only needs [Store],
    dedup_keys_are_compared_byte_by_byte needs [Store],
    dedup_keys_of_the_greatest_length_are_distinct needs [Store],
    a_delay_beyond_all_time_is_taken_in needs [Store],
    an_ordering_key_of_any_kind_comes_back_as_it_was needs [Store],
    a_payload_comes_back_byte_for_byte needs [Store],
    an_empty_payload_comes_back_empty needs [Store],
    the_longest_content_type_comes_back_whole needs [Store],
    headers_come_back_as_they_were needs [Store],
    as_many_headers_as_are_allowed_come_back needs [Store],
];

pub async fn a_committed_message_exists(fixture: Fixture) {
    let message = fixture.message();
    let tx = fixture.store.begin().await;
    assert_eq!(tx.enqueue(std::slice::from_ref(&message)).await.expect("enqueue"), [New]);
    tx.commit().await.expect("commit");
    assert_eq!(fixture.rival.take_one().await.message.id, message.id);
}

pub async fn a_rolled_back_message_leaves_nothing(fixture: Fixture) {
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.message(), fixture.message()]).await.expect("enqueue");
    tx.roll_back().await.expect("roll back");
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.rival.status().await, None);
}

pub async fn a_dropped_transaction_leaves_nothing(fixture: Fixture) {
    let tx = fixture.store.begin().await;
    tx.enqueue(&[fixture.message()]).await.expect("enqueue");
    drop(tx);
    fixture.enqueue(1).await;
    assert_eq!(fixture.rival.take_all().await.len(), 1);
}

pub async fn messages_of_one_transaction_exist_together(fixture: Fixture) {
    let sent = [fixture.message(), fixture.message(), fixture.message()];
    let tx = fixture.store.begin().await;
    for message in &sent {
        assert_eq!(tx.enqueue(std::slice::from_ref(message)).await.expect("enqueue"), [New]);
    }
    tx.commit().await.expect("commit");
    assert_eq!(found(&fixture.rival).await, sent.map(|message| message.id));
}

pub async fn each_message_is_answered_in_order(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.unique_message("b")]).await;
    let call = [
        fixture.unique_message("a"),
        fixture.unique_message("b"),
        fixture.message(),
        fixture.unique_message("a"),
        fixture.unique_message("c"),
        fixture.message(),
    ];
    assert_eq!(fixture.rival.enqueue(&call).await, [New, Duplicate, New, Duplicate, New, New]);
    assert_eq!(fixture.rival.take_all().await.len(), 5);
}

pub async fn an_enqueue_of_nothing_answers_nothing(fixture: Fixture) {
    assert_eq!(fixture.store.enqueue(&[]).await, []);
}

pub async fn many_messages_in_one_call_all_arrive(fixture: Fixture) {
    let sent: Vec<_> = (0..700).map(|_| fixture.loose_message()).collect();
    assert_eq!(fixture.store.enqueue(&sent).await, vec![New; 700]);
    let expected: Vec<_> = sent.iter().map(|message| message.id).collect();
    assert_eq!(found(&fixture.rival).await, expected);
}

pub async fn an_enqueue_of_unknown_outcome_can_be_repeated(fixture: Fixture) {
    let call = [fixture.message(), fixture.unique_message("a")];
    assert_eq!(fixture.store.enqueue(&call).await, [New, New]);
    let again = [call[0].clone(), call[1].clone(), fixture.message()];
    assert_eq!(fixture.rival.enqueue(&again).await, [Duplicate, Duplicate, New]);
    assert_eq!(found(&fixture.rival).await, again.map(|message| message.id));
}

pub async fn two_messages_of_one_id_in_a_call_are_one(fixture: Fixture) {
    let first = fixture.message();
    let call = [first.clone(), fixture.message(), first.clone(), first];
    assert_eq!(fixture.store.enqueue(&call).await, [New, New, Duplicate, Duplicate]);
    assert_eq!(found(&fixture.rival).await, [call[0].id, call[1].id]);
}

pub async fn a_known_message_with_another_dedup_key_leaves_that_key_free(fixture: Fixture) {
    let known = fixture.message();
    fixture.store.enqueue(std::slice::from_ref(&known)).await;
    let renamed = known.unique_by(DedupKey::new("late").expect("a key"));
    assert_eq!(fixture.store.enqueue(&[renamed]).await, [Duplicate]);
    assert_eq!(fixture.rival.enqueue(&[fixture.unique_message("late")]).await, [New]);
}

pub async fn a_dedup_key_is_taken_once_across_calls(fixture: Fixture) {
    assert_eq!(fixture.store.enqueue(&[fixture.unique_message("order-1")]).await, [New]);
    assert_eq!(fixture.rival.enqueue(&[fixture.unique_message("order-1")]).await, [Duplicate]);
    assert_eq!(fixture.store.enqueue(&[fixture.unique_message("order-2")]).await, [New]);
    assert_eq!(fixture.rival.take_all().await.len(), 2);
}

pub async fn a_dedup_key_is_taken_once_within_a_call(fixture: Fixture) {
    let call = [fixture.unique_message("x"), fixture.unique_message("x"), fixture.unique_message("x")];
    assert_eq!(fixture.store.enqueue(&call).await, [New, Duplicate, Duplicate]);
    assert_eq!(found(&fixture.rival).await, [call[0].id]);
}

pub async fn a_dedup_key_is_taken_once_within_a_transaction(fixture: Fixture) {
    let tx = fixture.store.begin().await;
    let first = fixture.unique_message("x");
    assert_eq!(tx.enqueue(std::slice::from_ref(&first)).await.expect("enqueue"), [New]);
    assert_eq!(tx.enqueue(&[fixture.unique_message("x")]).await.expect("enqueue"), [Duplicate]);
    tx.commit().await.expect("commit");
    assert_eq!(found(&fixture.rival).await, [first.id]);
}

pub async fn a_duplicate_leaves_no_trace(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.unique_message("x")]).await;
    let claimed = fixture.store.take_one().await;
    let duplicate = fixture.unique_message("x");
    assert_eq!(fixture.rival.enqueue(std::slice::from_ref(&duplicate)).await, [Duplicate]);
    let _ = fixture.store.ack(&claimed).await;
    assert_eq!(fixture.store.status().await, None);
    let same_id = NewMessage { dedup_key: None, ..duplicate };
    assert_eq!(fixture.rival.enqueue(&[same_id]).await, [New]);
}

pub async fn a_rolled_back_dedup_key_is_free_again(fixture: Fixture) {
    let tx = fixture.store.begin().await;
    assert_eq!(tx.enqueue(&[fixture.unique_message("x")]).await.expect("enqueue"), [New]);
    tx.roll_back().await.expect("roll back");
    let second = fixture.unique_message("x");
    assert_eq!(fixture.rival.enqueue(std::slice::from_ref(&second)).await, [New]);
    assert_eq!(found(&fixture.store).await, [second.id]);
}

pub async fn a_dedup_key_outlives_its_message(fixture: Fixture) {
    fixture.store.enqueue(&[fixture.unique_message("done"), fixture.unique_message("dead")]).await;
    for claimed in fixture.store.take(2).await {
        let _ = match claimed.message.payload.bytes().ends_with(b"1") {
            true => fixture.store.ack(&claimed).await,
            false => fixture.store.bury(&claimed, "no").await,
        };
    }
    assert_eq!(fixture.rival.purge(&fixture.rival.own_dead()).await, 1);
    fixture.advance(Duration::from_secs(3600)).await;
    let again = [fixture.unique_message("done"), fixture.unique_message("dead")];
    assert_eq!(fixture.rival.enqueue(&again).await, [Duplicate, Duplicate]);
    fixture.store.finds_nothing().await;
}

pub async fn a_dedup_key_holds_in_its_queue_only(fixture: Fixture) {
    let elsewhere = fixture.rival.on(&Fixture::fresh_queue());
    let there = NewMessage { queue: elsewhere.queue().clone(), ..fixture.unique_message("x") };
    for message in [fixture.unique_message("x"), there.clone()] {
        assert_eq!(fixture.store.enqueue(&[message]).await, [New]);
    }
    assert_eq!(found(&elsewhere).await, [there.id]);
}

pub async fn dedup_keys_are_compared_byte_by_byte(fixture: Fixture) {
    let keys = [
        "key",
        "Key",
        "KEY",
        "key ",
        " key",
        "key\t",
        "kéy",
        "ke\u{301}y",
        "k\u{eb}y",
        "ключ",
        "\u{1f511}",
        "\u{1f512}",
        "ß",
        "ss",
        "ｋｅｙ",
        "ı",
        "i",
        "key\0",
        "%",
        "_",
        "'; --",
        "\\",
    ];
    let all = keys.map(|key| fixture.unique_message(key));
    assert_eq!(fixture.store.enqueue(&all).await, vec![New; keys.len()]);
    let again = keys.map(|key| fixture.unique_message(key));
    assert_eq!(fixture.rival.enqueue(&again).await, vec![Duplicate; keys.len()]);
}

pub async fn dedup_keys_of_the_greatest_length_are_distinct(fixture: Fixture) {
    let long = "k".repeat(DedupKey::MAX_BYTES - 1);
    let call = ["A", "B", "A"].map(|end| fixture.unique_message(&format!("{long}{end}")));
    assert_eq!(fixture.store.enqueue(&call).await, [New, New, Duplicate]);
}

pub async fn a_delay_beyond_all_time_is_taken_in(fixture: Fixture) {
    let never = fixture.message().deliver_after(Duration::MAX);
    assert_eq!(fixture.store.enqueue(&[never, fixture.message()]).await, [New, New]);
    let claimed = fixture.store.take_one().await;
    assert_eq!(fixture.store.nack(&claimed, Duration::MAX, "never again").await, Accepted);
    fixture.advance(Duration::from_secs(10 * 365 * 86_400)).await;
    fixture.rival.finds_nothing().await;
    assert_eq!(fixture.store.status().await.map(|status| status.depth), Some(2));
}

pub async fn an_ordering_key_of_any_kind_comes_back_as_it_was(fixture: Fixture) {
    let long = "ä".repeat(OrderingKey::MAX_BYTES / 2);
    for key in ["k", "K ", " \u{1f511}\n", long.as_str()] {
        let key = OrderingKey::new(key).expect("a key");
        let sent = fixture.message().ordered_by(key.clone());
        fixture.store.enqueue(std::slice::from_ref(&sent)).await;
        let claimed = fixture.rival.take_one().await;
        assert_eq!(claimed.message.shard, fixture.facts.shards.shard_of(sent.id, Some(&key)));
        assert_eq!(claimed.message.ordering_key, Some(key));
    }
}

pub async fn a_payload_comes_back_byte_for_byte(fixture: Fixture) {
    let bytes: Vec<u8> = (0..=255).rev().chain(0..=255).chain([0, 0, 0xc3, 0x28, b'\'', b'\\']).collect();
    let payload = Payload::new("application/octet-stream", bytes).expect("a payload");
    let sent = NewMessage { payload, ..fixture.message() };
    fixture.store.enqueue(std::slice::from_ref(&sent)).await;
    assert_eq!(fixture.rival.take_one().await.message.payload, sent.payload);
}

pub async fn an_empty_payload_comes_back_empty(fixture: Fixture) {
    let payload = Payload::new("text/plain", vec![]).expect("a payload");
    fixture.store.enqueue(&[NewMessage { payload: payload.clone(), ..fixture.message() }]).await;
    assert_eq!(fixture.rival.take_one().await.message.payload, payload);
}

pub async fn the_longest_content_type_comes_back_whole(fixture: Fixture) {
    let content_type = format!("text/{} ", "x".repeat(Payload::MAX_CONTENT_TYPE_BYTES - 6));
    let payload = Payload::new(&content_type, b"4".to_vec()).expect("a payload");
    fixture.store.enqueue(&[NewMessage { payload: payload.clone(), ..fixture.message() }]).await;
    assert_eq!(fixture.rival.take_one().await.message.payload, payload);
}

pub async fn headers_come_back_as_they_were(fixture: Fixture) {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut headers = Headers::new();
    headers.set_trace(trace, Some("vendor=\"1\"")).expect("a trace");
    headers.insert("X-Size", " {\"ä\": \"\u{1f980}\"} ").expect("a header");
    headers.insert("empty", "").expect("a header");
    let sent = fixture.message().with_headers(headers.clone());
    let bare = fixture.message().with_headers(Headers::new());
    fixture.store.enqueue(&[sent.clone(), bare.clone()]).await;
    let found = fixture.rival.take_all().await;
    let of = |id| found.iter().find(|c| c.message.id == id).map(|c| &c.message.headers);
    assert_eq!((of(sent.id), of(bare.id)), (Some(&headers), Some(&Headers::new())));
}

pub async fn as_many_headers_as_are_allowed_come_back(fixture: Fixture) {
    let mut headers = Headers::new();
    let value = "v".repeat(1000);
    for n in 0..16 {
        headers.insert(&format!("name-{n:02}"), &value).expect("a header");
    }
    headers.insert("x-last", &"w".repeat(Headers::MAX_BYTES - 16 * 1007 - 6)).expect("a header");
    let sent = fixture.message().with_headers(headers.clone());
    fixture.store.enqueue(&[sent]).await;
    assert_eq!(fixture.rival.take_one().await.message.headers, headers);
}

/// The ids of everything that is due, in the order in which they were made.
async fn found(instance: &Instance) -> Vec<MessageId> {
    let mut ids: Vec<_> = instance.take_all().await.into_iter().map(|c| c.message.id).collect();
    ids.sort();
    ids
}
