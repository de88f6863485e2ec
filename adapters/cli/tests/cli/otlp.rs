//! What a collector sees of the program.
//! Promise: a call to `serve`, its fan-out, its mail and the call of a provider are one trace across
//! processes; a collector that is away delays nothing

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{Span, span::SpanKind},
};
use prost::Message;
use serde_json::json;

use crate::{
    operator::{Operator, eventually},
    serve::{LOG, OPEN, RELAY, start},
    server::Server,
};

/// A collector that keeps what it is sent.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

/// The path and the body of each request.
type Received = Vec<(String, Vec<u8>)>;

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::<Mutex<Received>>::default());
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || while take(&stream, &kept).is_some() {});
            }
        });
        Self { address, received }
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let received = self.received.lock().unwrap();
        received.iter().filter(|(of, _)| of == path).map(|(_, body)| body.clone()).collect()
    }

    /// All spans, with the name of the service that sent them.
    fn spans(&self) -> Vec<(String, Span)> {
        let mut spans = Vec::new();
        for body in self.bodies("/v1/traces") {
            for resource in ExportTraceServiceRequest::decode(&body[..]).unwrap().resource_spans {
                let service = text(&resource.resource.unwrap().attributes, "service.name").unwrap();
                let all = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.extend(all.map(|span| (service.clone(), span)));
            }
        }
        spans
    }

    fn metrics(&self) -> Vec<String> {
        let bodies = self.bodies("/v1/metrics").into_iter();
        let requests = bodies.map(|body| ExportMetricsServiceRequest::decode(&body[..]).unwrap());
        let scopes = requests.flat_map(|request| request.resource_metrics).flat_map(|one| one.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).map(|metric| metric.name).collect()
    }
}

/// Takes one request of a connection; `None` at its end.
fn take(mut stream: &TcpStream, kept: &Mutex<Received>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        match line.to_ascii_lowercase().trim_end().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    kept.lock().unwrap().push((first.split(' ').nth(1)?.to_owned(), body));
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|one| one.key == key)?.value.clone();
    match found {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some(text),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

#[test]
fn a_call_its_fan_out_its_mail_and_its_webhook_are_one_trace_across_processes() {
    let (operator, collector) = (Operator::with_database(), Collector::start());
    let (hook, mail) = (Server::answering(200), Server::mail());
    operator.write("claimstream.toml", settings(&collector, &hook, &mail));
    let mut served = start(&operator, &OPEN);
    let request = json!({
        "requester": {"type": "service", "id": "shop"},
        "recipients": [{"phone": "+491701234567", "email": "ann@example.com"}],
        "channels": ["sms", "email"], "content": {"title": "Paid", "body": "Thank you"},
    });
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let sent = served.client.exchange("POST", "/v1/notifications", &headers, &request.to_string()).unwrap();
    assert_eq!(sent.status, 201, "{sent:?}");
    operator.run(&["relay", "--until-empty"]).succeeded();
    served.running.signal("TERM");
    assert!(served.running.end().success(), "{:?}", operator.lines(LOG));
    assert!(mail.received().contains("Subject: Paid"), "{}", mail.received());
    let spans = collector.spans();
    let deliveries = are_one_trace(&spans);
    let named = deliveries.map(|span| format!("traceparent: 00-{TRACE}-{}-01", hex(&span.span_id)));
    assert!(named.iter().any(|named| hook.received().contains(named)), "{named:?}, {}", hook.received());
    for operation in ["receive notification-messages", "settle notification-messages"] {
        assert!(spans.iter().any(|(_, span)| span.name == operation), "no {operation} in {spans:?}");
    }
    measured(&collector.metrics());
    let all = format!("{spans:?}");
    for secret in ["Paid", "Thank you", "/hook", "ann@example.com", "+491701234567"] {
        assert!(!all.contains(secret), "{secret} was traced");
    }
}

fn settings(collector: &Collector, hook: &Server, mail: &Server) -> String {
    format!(
        "[otlp]\nendpoint = 'http://{}'\nservice_name = 'shop'\n\
         [channels.sms]\nprovider = 'webhook'\nurl = 'http://{}/hook'\nproxy = false\n\
         [channels.email]\nprovider = 'smtp'\nserver = 'smtp://{}'\nfrom = 'shop@example.com'\n",
        collector.address,
        hook.address(),
        mail.address()
    )
}

/// The call, its fan-out and two deliveries, each a child of the one before; answers the deliveries.
fn are_one_trace(spans: &[(String, Span)]) -> [&Span; 2] {
    let find = |name: &str| {
        let of_trace = spans.iter().filter(|(_, span)| hex(&span.trace_id) == TRACE && span.name == name);
        let found: Vec<_> = of_trace.inspect(|(service, _)| assert_eq!(service, "shop")).collect();
        found.into_iter().map(|(_, span)| span).collect::<Vec<_>>()
    };
    let [call] = find("POST /v1/notifications")[..] else { panic!("not one call: {spans:?}") };
    assert_eq!((hex(&call.parent_span_id).as_str(), call.kind()), (CALLER, SpanKind::Server));
    let [fan_out] = find("process notification-requests")[..] else { panic!("not one fan-out: {spans:?}") };
    assert_eq!((&fan_out.parent_span_id, fan_out.kind()), (&call.span_id, SpanKind::Consumer));
    let [one, other] = find("process notification-messages")[..] else { panic!("not two: {spans:?}") };
    for delivery in [one, other] {
        assert_eq!(delivery.parent_span_id, fan_out.span_id);
        assert_eq!(delivery.links[0].span_id, fan_out.span_id);
        assert_eq!(text(&delivery.attributes, "claimstream.verdict").as_deref(), Some("ack"));
        for key in ["messaging.system", "messaging.destination.name", "messaging.destination.partition.id"] {
            assert!(text(&delivery.attributes, key).is_some(), "no {key} in {delivery:?}");
        }
    }
    [one, other]
}

/// The metrics of the conventions, and our own.
fn measured(metrics: &[String]) {
    for name in [
        "messaging.client.sent.messages",
        "messaging.client.consumed.messages",
        "messaging.client.operation.duration",
        "messaging.process.duration",
        "claimstream.wait",
        "claimstream.settled.messages",
    ] {
        assert!(metrics.iter().any(|metric| metric == name), "no {name} in {metrics:?}");
    }
}

#[test]
fn a_collector_that_is_away_holds_nothing_up() {
    let operator = Operator::with_database();
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("otlp.endpoint=http://{away}");
    let mut served = start(&operator, &[&OPEN[..], &RELAY, &["--set", &endpoint]].concat());
    let body = json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"email": "ann@example.com"}],
        "channels": ["email"], "content": {"title": "Paid"},
    });
    assert_eq!(served.client.send("1", &body).status, 201);
    eventually("it is delivered", || operator.lines("out.jsonl").len() == 1);
    served.running.signal("TERM");
    assert!(served.running.end().success());
    let log = operator.lines(LOG).join("\n");
    assert!(log.contains("has not taken the last spans") && !log.contains("panicked at"), "{log}");
}

#[test]
fn an_endpoint_with_tls_is_refused_with_the_way_out() {
    let operator = Operator::with_database();
    let why = operator.run(&["status", "--set", "otlp.endpoint=https://collector:4318"]).failed(2);
    assert!(why.contains("otlp.endpoint") && why.contains("a collector next to this process"), "{why}");
}
