//! What a collector sees of the program.

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

    fn endpoint(&self) -> String {
        format!("otlp.endpoint=http://{}", self.address)
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
fn a_call_its_fan_out_and_its_delivery_are_one_trace_across_processes() {
    let (operator, collector, shop) = (Operator::with_database(), Collector::start(), Server::answering(200));
    let endpoint = collector.endpoint();
    let otlp = ["--set", &endpoint, "--set", "otlp.service_name=shop"];
    let url = format!("channels.sms.url=http://{}/hook", shop.address());
    let webhook =
        ["--set", "channels.sms.provider=webhook", "--set", "channels.sms.proxy=false", "--set", &url];
    let mut served = start(&operator, &[&OPEN[..], &otlp].concat());
    let request = json!({
        "requester": {"type": "service", "id": "shop"}, "recipients": [{"phone": "+491701234567"}],
        "channels": ["sms"], "content": {"title": "Paid"},
    });
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let headers = [("content-type", "application/json"), ("traceparent", traceparent.as_str())];
    let sent = served.client.exchange("POST", "/v1/notifications", &headers, &request.to_string()).unwrap();
    assert_eq!(sent.status, 201, "{sent:?}");
    operator.run(&[&["relay", "--until-empty"][..], &otlp, &webhook].concat()).succeeded();
    served.running.signal("TERM");
    assert!(served.running.end().success(), "{:?}", operator.lines(LOG));
    let spans = collector.spans();
    let of_trace: Vec<_> = spans.iter().filter(|(_, span)| hex(&span.trace_id) == TRACE).collect();
    let find = |name: &str| {
        let mut found = of_trace.iter().filter(|(_, span)| span.name == name);
        let (service, span) = found.next().unwrap_or_else(|| panic!("no span {name} in {spans:?}"));
        assert_eq!(service, "shop");
        assert!(found.next().is_none(), "{name} twice");
        span
    };
    let call = find("POST /v1/notifications");
    assert_eq!((hex(&call.parent_span_id).as_str(), call.kind()), (CALLER, SpanKind::Server));
    let fan_out = find("process notification-requests");
    assert_eq!((&fan_out.parent_span_id, fan_out.kind()), (&call.span_id, SpanKind::Consumer));
    let delivery = find("process notification-messages");
    assert_eq!(delivery.parent_span_id, fan_out.span_id);
    assert_eq!(delivery.links[0].span_id, fan_out.span_id);
    assert_eq!(text(&delivery.attributes, "claimstream.verdict").as_deref(), Some("ack"));
    let named = format!("traceparent: 00-{TRACE}-{}-01", hex(&delivery.span_id));
    assert!(shop.received().contains(&named), "{named} is not in {}", shop.received());
    assert!(spans.iter().any(|(_, span)| span.name == "settle notification-messages"));
    let metrics = collector.metrics();
    for name in ["messaging.client.consumed.messages", "messaging.process.duration"] {
        assert!(metrics.iter().any(|metric| metric == name), "no {name} in {metrics:?}");
    }
    let all = format!("{spans:?}");
    assert!(!all.contains("Paid") && !all.contains("/hook"), "a text or an address was traced");
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
    assert!(why.contains("otlp.endpoint") && why.contains("a collector beside this process"), "{why}");
}
