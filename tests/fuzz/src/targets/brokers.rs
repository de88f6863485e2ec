use async_nats::HeaderMap;
use claimstream_domain::{Headers, Received};

use crate::{Target, head::Head};

#[path = "../../../../adapters/brokers/src/nats/wire.rs"]
#[allow(dead_code, reason = "messages are read here and not published")]
mod nats;
#[path = "../../../../adapters/brokers/src/redis_streams/wire.rs"]
#[allow(dead_code, reason = "messages are read here and not published")]
mod redis_streams;

/// Headers and body of a message of NATS.
pub(super) const NATS: Target = Target {
    name: "nats_message",
    run: |data| {
        let head = Head::of(data);
        let mut headers = HeaderMap::new();
        // A name or a value with other bytes is refused by the client, which reads them.
        let fit = head.texts().filter(|(name, value)| is_name(name) && !value.contains(['\r', '\n']));
        fit.for_each(|(name, value)| headers.append(name, value));
        check(&nats::received("orders", Some(&headers), head.body.to_vec()))
    },
    seeds: &[
        b"claimstream-id: 019ac0de-0000-7000-8000-000000000001\nclaimstream-key: ann%20b\ncontent-type: application/json\ntraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n\n{}",
        b"Nats-Msg-Id: 7\nce-id: 1\nce-source: /shop/%22eu%22\nce-type: order.paid\nce-datacontenttype: text/plain\n\npaid",
    ],
};

/// Fields of an entry of a Redis stream.
pub(super) const REDIS_STREAMS: Target = Target {
    name: "redis_entry",
    run: |data| {
        let fields = Head::of(data).fields;
        let fields = fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        check(&redis_streams::received("orders", fields.collect()))
    },
    seeds: &[
        b"id: 019ac0de-0000-7000-8000-000000000001\nkey: ann\ncontent-type: application/json\ndata: {}\nheader-region: eu",
        b"id: customer-7\nce-id: 1\nce-source: /shop\nce-partitionkey: k\nfield: value",
    ],
};

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

/// What a consumer is handed keeps the limits of what it is made of. Everything is accepted, and only some of it has an id.
fn check(received: &Received) -> bool {
    let headers = received.headers.iter();
    let bytes: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    assert!(bytes <= Headers::MAX_BYTES);
    assert_eq!(received.place, "orders");
    assert!(!received.body.content_type().is_empty());
    !received.id.is_empty()
}
