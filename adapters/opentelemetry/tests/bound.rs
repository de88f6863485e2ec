//! How often the SDK looks up the attributes of what each message is measured with.
//! Promise: the attributes of a message's histograms are looked up once for a queue and an outcome
#![cfg(feature = "bound")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use claimstream_domain::QueueName;
use claimstream_opentelemetry::MeterTelemetry;
use claimstream_ports::{Handled, Measured, Telemetry};
use opentelemetry::{
    InstrumentationScope, KeyValue, global,
    metrics::{
        BoundSyncInstrument, Histogram, HistogramBuilder, InstrumentProvider, Meter, MeterProvider,
        SyncInstrument,
    },
};

/// A provider of histograms that counts their look-ups and their records, each under the histogram's name.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<BTreeMap<String, usize>>>);

impl Counting {
    fn count(&self, what: &str, name: &str) {
        *self.0.lock().unwrap().entry(format!("{what} {name}")).or_default() += 1;
    }
}

impl MeterProvider for Counting {
    fn meter_with_scope(&self, _: InstrumentationScope) -> Meter {
        Meter::new(Arc::new(self.clone()))
    }
}

impl InstrumentProvider for Counting {
    fn f64_histogram(&self, builder: HistogramBuilder<'_, Histogram<f64>>) -> Histogram<f64> {
        Histogram::new(Arc::new(Counted { counting: self.clone(), name: builder.name.into_owned() }))
    }
}

#[derive(Clone)]
struct Counted {
    counting: Counting,
    name: String,
}

impl SyncInstrument<f64> for Counted {
    fn measure(&self, _: f64, _: &[KeyValue]) {
        self.counting.count("looked up and recorded", &self.name);
    }

    fn bind(&self, _: &[KeyValue]) -> Box<dyn BoundSyncInstrument<f64> + Send + Sync> {
        self.counting.count("looked up", &self.name);
        Box::new(self.clone())
    }
}

impl BoundSyncInstrument<f64> for Counted {
    fn measure(&self, _: f64) {
        self.counting.count("recorded", &self.name);
    }
}

/// Guard: histograms of messages are bound | src/series.rs: attributes with each record
#[test]
fn the_attributes_of_each_message_are_looked_up_once_for_a_queue_and_an_outcome() {
    let (counting, queue, took) =
        (Counting::default(), &QueueName::new("orders").unwrap(), Duration::from_millis(7));
    global::set_meter_provider(counting.clone());
    let telemetry = MeterTelemetry::new();
    for outcome in [Handled::Acked, Handled::Nacked] {
        telemetry.record(Measured::Waited { queue, waits: &[took; 100] });
        (0..100).for_each(|_| telemetry.clone().record(Measured::Handled { queue, outcome, took }));
    }
    let counted = counting.0.lock().unwrap().clone();
    let expected = [
        ("looked up claimstream.wait", 1),
        ("looked up messaging.process.duration", 2),
        ("recorded claimstream.wait", 200),
        ("recorded messaging.process.duration", 200),
    ];
    assert_eq!(counted, expected.map(|(what, times)| (what.to_owned(), times)).into());
}
