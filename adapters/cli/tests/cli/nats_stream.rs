use std::collections::BTreeMap;

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, pull},
    stream::Config,
};
use futures::StreamExt;

/// A stream of its own; its name is also a subject.
pub(crate) struct Stream {
    pub(crate) name: String,
    stream: jetstream::stream::Stream,
}

/// A message that a stream holds.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Stream {
    pub(crate) async fn on(url: &str) -> Self {
        let context = jetstream::new(async_nats::connect(url).await.unwrap());
        let name = format!("test-{}", uuid::Uuid::now_v7().simple());
        let subjects = vec![name.clone(), format!("{name}.>")];
        let config = Config { name: name.clone(), subjects, ..Config::default() };
        Self { stream: context.create_stream(config).await.unwrap(), name }
    }

    /// Everything that it holds, in its order.
    pub(crate) async fn held(&self) -> Vec<Held> {
        let many = usize::try_from(self.stream.get_info().await.unwrap().state.messages).unwrap();
        let config = pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() };
        let consumer = self.stream.create_consumer(config).await.unwrap();
        let all = consumer.messages().await.unwrap().take(many);
        all.map(|message| Held::of(&message.map_err(|e| format!("{e:?}")).unwrap())).collect().await
    }
}

impl Held {
    fn of(message: &jetstream::Message) -> Self {
        let headers = message.headers.as_ref().unwrap().iter();
        let headers: BTreeMap<_, _> =
            headers.map(|(name, values)| (name.to_string(), values[0].as_str().to_owned())).collect();
        let body = String::from_utf8(message.payload.to_vec()).unwrap();
        Self { id: headers["claimstream-id"].clone(), subject: message.subject.to_string(), headers, body }
    }
}
