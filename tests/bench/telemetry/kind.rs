use std::{fmt, sync::Arc};

use claimstream_metrics::{MetricsTelemetry, SECONDS_BUCKETS, describe};
use claimstream_opentelemetry::{CallSpans, MeterTelemetry};
use claimstream_ports::Telemetry;
use clap::ValueEnum;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::{Failure, collector::Collecting};

/// What measures a drain.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Kind {
    /// Nothing.
    None,
    /// Metrics for Prometheus.
    Metrics,
    /// Metrics for a collector.
    OtlpMetrics,
    /// Spans for a collector, of one trace in a hundred.
    OtlpTraces1,
    /// Spans for a collector, of every trace.
    OtlpTraces,
}

/// What a kind has installed in this process.
pub(crate) enum Installed {
    Nothing,
    Recorder(PrometheusHandle),
    Exporters(Collecting),
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::None, Self::Metrics, Self::OtlpMetrics, Self::OtlpTraces1, Self::OtlpTraces];

    /// How many of a hundred traces are sent; `None` if messages have no spans.
    pub(crate) fn sample_percent(self) -> Option<u32> {
        match self {
            Self::OtlpTraces1 => Some(1),
            Self::OtlpTraces => Some(100),
            Self::None | Self::Metrics | Self::OtlpMetrics => None,
        }
    }

    /// Installs it in this process, as the program `claimstream` does.
    pub(crate) fn install(self, collector: &str) -> Result<Installed, Failure> {
        Ok(match self {
            Self::None => Installed::Nothing,
            Self::Metrics => {
                let handle = PrometheusBuilder::new().set_buckets(&SECONDS_BUCKETS)?.install_recorder()?;
                describe();
                Installed::Recorder(handle)
            }
            Self::OtlpMetrics => Installed::Exporters(Collecting::metrics(collector)?),
            Self::OtlpTraces1 | Self::OtlpTraces => {
                let percent = self.sample_percent().unwrap_or_default();
                Installed::Exporters(Collecting::spans(collector, percent)?)
            }
        })
    }

    /// What relay and store are measured by, once it is installed.
    pub(crate) fn telemetry(self) -> Option<Arc<dyn Telemetry>> {
        match self {
            Self::None => None,
            Self::Metrics => Some(Arc::new(MetricsTelemetry::default())),
            Self::OtlpMetrics => Some(Arc::new(MeterTelemetry::new())),
            Self::OtlpTraces1 | Self::OtlpTraces => Some(Arc::new(CallSpans)),
        }
    }
}

impl Installed {
    /// Shows or sends what was measured.
    pub(crate) fn finish(self) {
        match self {
            Self::Nothing => {}
            Self::Recorder(handle) => {
                handle.run_upkeep();
                std::hint::black_box(handle.render());
            }
            Self::Exporters(collecting) => collecting.finish(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Metrics => "metrics",
            Self::OtlpMetrics => "otlp-metrics",
            Self::OtlpTraces1 => "otlp-traces1",
            Self::OtlpTraces => "otlp-traces",
        })
    }
}
