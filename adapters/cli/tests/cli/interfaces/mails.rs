use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Stdio,
    sync::mpsc::{self, Receiver},
    thread,
};

use serde_json::{Value, json};

use super::tools::{Tools, script};
use crate::operator::{Operator, Running, STUCK};

/// A mail server that refuses a bare CR and a bare LF.
pub(super) struct Mails {
    _running: Running,
    output: Receiver<String>,
    port: u16,
}

/// Texts that hold ends of lines of each kind, lines with one dot, and what would be a second mail after them.
pub(super) const TEXTS: [&str; 10] = [
    "a\rb",
    "a\nb",
    "a\r\nb",
    ".",
    "a\r\n.\r\nb",
    "a\n.\nb",
    "a\r.\rb",
    "a\n.\r\nMAIL FROM:<eve@shop.example>\r\nRCPT TO:<eve@example.com>\r\nDATA\r\nb\r\n.\r\n",
    "\r\n..\r\n.\r\n",
    "Grüße\r.\nAnn\r",
];

impl Mails {
    pub(super) fn start(tools: &Tools, operator: &Operator) -> Self {
        let mut command = tools.python(&operator.path(""));
        let mut running =
            command.arg(script("mails.py")).stdin(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
        let (lines, output) = mpsc::channel();
        let said = BufReader::new(running.stdout.take().unwrap());
        thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        let port = output.recv_timeout(STUCK).unwrap();
        let port = port.parse().unwrap_or_else(|e| panic!("{e}: {port:?}"));
        Self { _running: Running(running), output, port }
    }

    /// Delivers mails whose title or whose body is one of these texts, and gives what the server says of each, in some order.
    pub(super) fn deliver(&self, operator: &Operator, texts: &[&str]) -> Vec<Value> {
        operator.write(
            "claimstream.toml",
            format!(
                "[channels.email]\nprovider = 'smtp'\nserver = 'smtp://127.0.0.1:{}'\nfrom = 'Shop <shop@shop.example>'\n",
                self.port
            ),
        );
        let contents = texts.iter().flat_map(|text| {
            [json!({"title": text, "body": text}), json!({"title": "plain", "body": text, "html": text})]
        });
        let requests: String = (1..).zip(contents).map(|(number, content)| mail(number, &content)).collect();
        operator.run_with(&["notify", "-"], requests.as_bytes()).succeeded();
        operator.run(&["relay", "--until-empty"]).succeeded();
        (0..2 * texts.len()).map(|_| self.next()).collect()
    }

    /// What it says next of a mail.
    fn next(&self) -> Value {
        let line = self.output.recv_timeout(STUCK).expect("the server says something of each mail");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Its answer to bytes, after its greeting, and what it says of them.
    pub(super) fn answer(&self, bytes: &[u8]) -> (String, Value) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(STUCK)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer, self.next())
    }
}

/// A line of `claimstream notify`.
fn mail(number: u32, content: &Value) -> String {
    let request = json!({
        "id": crate::operator::id(number), "requester": {"type": "service", "id": "test"},
        "recipients": [{"email": format!("a{number}@example.com")}], "channels": ["email"], "content": content,
    });
    format!("{request}\n")
}
