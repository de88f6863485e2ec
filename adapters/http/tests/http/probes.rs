use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use claimstream_http::{Probes, Readiness, Server};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::api::timer;

/// Says whatever a test wrote last.
#[derive(Default)]
struct NotReady(Mutex<Vec<String>>);

#[async_trait]
impl Readiness for NotReady {
    async fn failing(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn ask(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn probes_name_everything_that_fails_and_never_fail_for_life() {
    let faults = Arc::<NotReady>::default();
    let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0)), timer()).await.unwrap();
    let address = server.address().unwrap();
    let probes = Probes::new(Arc::clone(&faults) as _, || "orders 7\n".into());
    let serving = tokio::spawn(server.run_probes(probes));
    assert!(ask(address, "GET", "/readyz").await.starts_with("HTTP/1.1 200"));
    *faults.0.lock().unwrap() = vec!["the process stops".into(), "orders: the pipeline has ended".into()];
    let answer = ask(address, "GET", "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("application/problem+json"), "{answer}");
    assert!(answer.contains("the process stops; orders: the pipeline has ended"), "{answer}");
    assert!(ask(address, "GET", "/healthz").await.starts_with("HTTP/1.1 200"));
    let metrics = ask(address, "GET", "/metrics").await;
    assert!(metrics.contains("text/plain; version=0.0.4") && metrics.ends_with("orders 7\n"), "{metrics}");
    assert!(ask(address, "POST", "/metrics").await.starts_with("HTTP/1.1 405"));
    assert!(ask(address, "GET", "/v1/notifications").await.starts_with("HTTP/1.1 404"));
    serving.abort();
}
