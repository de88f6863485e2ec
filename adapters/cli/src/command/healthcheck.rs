use std::{io::Write, net::SocketAddr, process::ExitCode, time::Duration};

use claimstream_tokio::TokioTimer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use claimstream_ports::within;

use crate::{config::Config, failure::Failure};

/// Asks a process on this machine whether it is ready, and ends with 0 if it is and with 1 otherwise.
pub(super) async fn run(
    as_json: bool,
    config: &Config,
    timer: TokioTimer,
    out: &mut impl Write,
) -> Result<ExitCode, Failure> {
    let address = reachable(config.probes.listen.unwrap_or(config.serve.listen));
    let refused = |why: String| Failure::Refused(format!("no answer from {address}: {why}"));
    let answer = within(&timer, TIMEOUT, ask(address)).await;
    let answer = answer.ok_or_else(|| refused("it takes too long".into()))?;
    let answer = answer.map_err(|error| refused(error.to_string()))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if head.split_whitespace().nth(1) == Some("200") {
        match as_json {
            true => writeln!(out, "{}", serde_json::json!({"ready": true}))?,
            false => writeln!(out, "ready")?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let problem: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let why = problem["detail"].as_str().unwrap_or("the answer is not one of this program");
    Err(Failure::Refused(format!("not ready: {why}")))
}

/// How long the process may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest answer that is read, in bytes.
const MOST: u64 = 64 * 1024;

async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The address by which this machine reaches a process that listens everywhere.
fn reachable(listen: SocketAddr) -> SocketAddr {
    match listen {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (std::net::Ipv6Addr::LOCALHOST, v6.port()).into(),
        other => other,
    }
}
