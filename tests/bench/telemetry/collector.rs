use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;
use opentelemetry::global;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    metrics::SdkMeterProvider,
    trace::{Sampler, SdkTracerProvider},
};

use crate::Failure;

/// Exporters to a collector, installed for the whole process.
pub(crate) enum Collecting {
    Metrics(SdkMeterProvider),
    Spans(SdkTracerProvider),
}

impl Collecting {
    pub(crate) fn metrics(collector: &str) -> Result<Self, Failure> {
        let exporter = MetricExporter::builder().with_http().with_http_client(Client::of(collector));
        let exporter = exporter.with_protocol(Protocol::HttpBinary);
        let exporter = exporter.with_endpoint(format!("http://{collector}/v1/metrics")).build()?;
        let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter).build();
        global::set_meter_provider(provider.clone());
        Ok(Self::Metrics(provider))
    }

    pub(crate) fn spans(collector: &str, percent: u32) -> Result<Self, Failure> {
        let exporter = SpanExporter::builder().with_http().with_http_client(Client::of(collector));
        let exporter = exporter.with_protocol(Protocol::HttpBinary);
        let exporter = exporter.with_endpoint(format!("http://{collector}/v1/traces")).build()?;
        let ratio = Sampler::TraceIdRatioBased(f64::from(percent) / 100.0);
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(ratio)))
            .build();
        global::set_tracer_provider(provider.clone());
        Ok(Self::Spans(provider))
    }

    /// Sends what is left. What does not arrive is not the matter here.
    pub(crate) fn finish(self) {
        let _ = match self {
            Self::Metrics(provider) => provider.shutdown(),
            Self::Spans(provider) => provider.shutdown(),
        };
    }
}

/// A client that sends over one connection, on the exporter's own thread.
#[derive(Debug)]
struct Client {
    collector: String,
    connection: Mutex<Option<TcpStream>>,
}

impl Client {
    fn of(collector: &str) -> Self {
        Self { collector: collector.to_owned(), connection: Mutex::default() }
    }

    fn send(&self, request: &Request<Bytes>) -> std::io::Result<()> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match connection.take() {
            Some(stream) => stream,
            None => TcpStream::connect(&self.collector)?,
        };
        let body = request.body();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n",
            request.uri().path(),
            self.collector,
            body.len()
        );
        (&stream).write_all(head.as_bytes())?;
        (&stream).write_all(body)?;
        read_message(&stream)?;
        *connection = Some(stream);
        Ok(())
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.send(&request)?;
        Ok(Response::new(Bytes::new()))
    }
}

/// Reads one request or answer with its body, and says how long the body was; an error at the end of the connection.
pub(crate) fn read_message(stream: &TcpStream) -> std::io::Result<usize> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.to_ascii_lowercase().trim_end().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().unwrap_or_default(),
            None if line.trim_end().is_empty() => break,
            _ => {}
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(length)
}
