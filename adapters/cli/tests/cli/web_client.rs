use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::operator::STUCK;

/// A client that calls a server over HTTP, each time on a connection of its own.
#[derive(Clone)]
pub(crate) struct WebClient {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl WebClient {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None, "").unwrap()
    }

    /// Hands a notification in.
    pub(crate) fn send(&self, key: &str, body: &Value) -> Answer {
        self.call("POST", "/v1/notifications", Some(key), &body.to_string()).unwrap()
    }

    /// Sends a request and reads its answer; an error says that its outcome is unknown.
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: &str,
    ) -> std::io::Result<Answer> {
        let token = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(token.as_deref().map(|token| ("authorization", token)));
        headers.extend(key.map(|key| ("idempotency-key", key)));
        self.exchange(method, path, &headers, body)
    }

    /// Sends a request with these headers alone.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(STUCK))?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let text = body.to_owned();
        let body = serde_json::from_str(body).unwrap_or(Value::Null);
        Ok(Answer {
            status: status.ok_or(std::io::ErrorKind::InvalidData)?,
            head: head.to_lowercase(),
            body,
            text,
        })
    }
}
