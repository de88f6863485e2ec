use std::time::Duration;

#[cfg(feature = "bound")]
use opentelemetry::metrics::BoundHistogram;
use opentelemetry::{KeyValue, metrics::Histogram};

/// A histogram of seconds with attributes that stay.
pub(crate) struct Series {
    /// The SDK has looked the attributes up once.
    #[cfg(feature = "bound")]
    histogram: BoundHistogram<f64>,
    /// The SDK looks the attributes up with each record.
    #[cfg(not(feature = "bound"))]
    histogram: Histogram<f64>,
    #[cfg(not(feature = "bound"))]
    attributes: Vec<KeyValue>,
}

#[cfg(feature = "bound")]
impl Series {
    pub(crate) fn new(histogram: &Histogram<f64>, attributes: Vec<KeyValue>) -> Self {
        Self { histogram: histogram.bind(&attributes) }
    }

    pub(crate) fn record(&self, took: Duration) {
        self.histogram.record(took.as_secs_f64());
    }
}

#[cfg(not(feature = "bound"))]
impl Series {
    pub(crate) fn new(histogram: &Histogram<f64>, attributes: Vec<KeyValue>) -> Self {
        Self { histogram: histogram.clone(), attributes }
    }

    pub(crate) fn record(&self, took: Duration) {
        self.histogram.record(took.as_secs_f64(), &self.attributes);
    }
}
