use claimstream_domain::{MessageId, NewMessage, Payload, Settled::Accepted};
use claimstream_ports::StoreErrorKind;
use claimstream_sea_orm::{OpenOptions, SeaOrmOutbox};
use uuid::Uuid;

use crate::suite::{Case, cases};
use crate::{Fixture, Instance, Ports, ServerFixture};

pub const CLAUSES: &[Case<ServerFixture>] = cases!["packet" needs [Server, PacketLimit]:
    a_payload_of_exactly_the_servers_limit_comes_back_whole_and_one_byte_more_is_refused,
];

pub async fn a_payload_of_exactly_the_servers_limit_comes_back_whole_and_one_byte_more_is_refused(
    fixture: ServerFixture,
) {
    let options = OpenOptions { max_payload: None, ..fixture.options };
    let outbox = SeaOrmOutbox::open(&fixture.empty, options).await.expect("open");
    let limit = outbox.payload_limit().bytes();
    println!("packet: a payload may have {limit} bytes");
    assert!(limit > 1_000_000, "the server's limit is {limit} bytes");
    let instance = Instance::new(1, Ports::of(outbox.clone()), Fixture::fresh_queue(), 10);

    let whole = message(&instance, limit);
    outbox.enqueue_now(std::slice::from_ref(&whole)).await.expect("a payload of the limit");
    let claimed = instance.take_one().await;
    assert!(claimed.message.payload == whole.payload, "the payload came back changed");
    assert_eq!(instance.ack(&claimed).await, Accepted);

    let small = message(&instance, 1);
    outbox.enqueue_now(std::slice::from_ref(&small)).await.expect("enqueue");
    let refused = [message(&instance, 2), message(&instance, limit + 1)];
    let error = outbox.enqueue_now(&refused).await.expect_err("one byte too many");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("payload"), "it names no payload: {error}");
    assert!(error.to_string().contains(&limit.to_string()), "it names no limit: {error}");
    assert_eq!(instance.take_one().await.message.id, small.id);
    instance.finds_nothing().await;
}

fn message(instance: &Instance, len: usize) -> NewMessage {
    let bytes = (0..len).map(|n| (n % 251) as u8).collect();
    let payload = Payload::new("application/octet-stream", bytes).expect("a payload");
    NewMessage::new(MessageId::new(Uuid::now_v7()), instance.queue().clone(), payload)
}
