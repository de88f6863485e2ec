use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
#[cfg(feature = "http")]
use claimstream_http::Service;
use claimstream_opentelemetry::{CallSpans, MeterTelemetry, TracedBatchHandler};
use claimstream_ports::{BatchHandler, Telemetry, within};
use claimstream_tokio::TokioTimer;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::global;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::{
    Resource,
    metrics::SdkMeterProvider,
    propagation::TraceContextPropagator,
    trace::{Sampler, SdkTracerProvider},
};
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::{config::Otlp, failure::Failure};

/// Sends spans and metrics to a collector, in the background. What the collector does not take is lost; nothing waits for it.
pub(crate) struct Exporting {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    timer: TokioTimer,
}

impl Exporting {
    /// How long the last spans and metrics may take at the end of the process.
    const LAST: Duration = Duration::from_secs(2);

    /// Installs the global providers, if `otlp.endpoint` names a collector.
    pub(crate) fn start(otlp: &Otlp, timer: TokioTimer) -> Result<Option<Self>, Failure> {
        let Some(endpoint) = &otlp.endpoint else { return Ok(None) };
        let base = endpoint.trim_end_matches('/');
        let refused = |e| Failure::Refused(format!("`otlp.endpoint`: nothing can be sent to {base}: {e}"));
        let exporting = Self::to(base, otlp, timer).map_err(refused)?;
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(exporting.tracers.clone());
        global::set_meter_provider(exporting.meters.clone());
        tracing::info!(collector = base, "spans and metrics are sent by OTLP");
        Ok(Some(exporting))
    }

    fn to(base: &str, otlp: &Otlp, timer: TokioTimer) -> Result<Self, ExporterBuildError> {
        let collector = Collector {
            client: Client::builder(TokioExecutor::new()).build_http(),
            runtime: Handle::current(),
            timer,
        };
        let resource = Resource::builder().with_service_name(otlp.service_name.clone()).build();
        let spans = SpanExporter::builder().with_http().with_http_client(collector.clone());
        let spans =
            spans.with_protocol(Protocol::HttpBinary).with_endpoint(format!("{base}/v1/traces")).build()?;
        let metrics = MetricExporter::builder().with_http().with_http_client(collector);
        let metrics = metrics
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()?;
        let ratio = Sampler::TraceIdRatioBased(f64::from(otlp.sample_percent) / 100.0);
        let tracers = SdkTracerProvider::builder()
            .with_batch_exporter(spans)
            .with_sampler(Sampler::ParentBased(Box::new(ratio)))
            .with_resource(resource.clone())
            .build();
        let meters =
            SdkMeterProvider::builder().with_periodic_exporter(metrics).with_resource(resource).build();
        Ok(Self { tracers, meters, timer })
    }

    /// What the outbox and its relays are to be measured by.
    pub(crate) fn telemetry(&self) -> Vec<Arc<dyn Telemetry>> {
        vec![Arc::new(MeterTelemetry::new()), Arc::new(CallSpans)]
    }

    /// A service whose requests have spans.
    #[cfg(feature = "http")]
    pub(crate) fn of_service(&self, service: Service) -> Service {
        service.within(crate::traced_requests::traced)
    }

    /// A handler whose messages have spans, if spans are sent anywhere. The sampler of the process is based on parents.
    pub(crate) fn of_handler(otlp: &Otlp, handler: impl BatchHandler + 'static) -> Arc<dyn BatchHandler> {
        match otlp.endpoint {
            Some(_) => Arc::new(TracedBatchHandler::new(handler).obeying_creators()),
            None => Arc::new(handler),
        }
    }

    /// Sends what is left, for a short while.
    pub(crate) async fn finish(self) {
        let Self { tracers, meters, timer } = self;
        let ending = spawn_blocking(move || {
            let (spans, metrics) = (tracers.shutdown(), meters.shutdown());
            for error in [spans.err(), metrics.err()].into_iter().flatten() {
                tracing::warn!(%error, "the collector has not taken the last spans or metrics");
            }
        });
        if within(&timer, Self::LAST, ending).await.is_none() {
            tracing::warn!("the collector has not taken the last spans and metrics within {:?}", Self::LAST);
        }
    }
}

/// A client of a collector. The exporters call it from threads of their own, so it works on the runtime of the process.
#[derive(Clone, Debug)]
struct Collector {
    client: Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
    timer: TokioTimer,
}

impl Collector {
    /// The longest answer that is read.
    const MOST_BYTES: usize = 64 * 1024;
    /// How long a call may take.
    const TIMEOUT: Duration = Duration::from_secs(10);
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (client, timer, request) = (self.client.clone(), self.timer, request.map(Full::new));
        let call = async move {
            let (head, body) = client.request(request).await?.into_parts();
            let body = Limited::new(body, Self::MOST_BYTES).collect().await?;
            Ok::<_, HttpError>(Response::from_parts(head, body.to_bytes()))
        };
        // A timeout is made where its runtime is.
        let answer = self.runtime.spawn(async move { within(&timer, Self::TIMEOUT, call).await }).await?;
        answer.ok_or("the collector does not answer")?
    }
}
