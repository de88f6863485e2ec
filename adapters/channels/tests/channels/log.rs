use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use claimstream_channels::{LogChannel, LogConfig};
use claimstream_domain::notification::Channel;
use claimstream_ports::notification::{ChannelProvider, DeliveryError};
use serde_json::Value;

use crate::message::message;

/// Keeps each write apart.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<Vec<String>>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn line(config: LogConfig) -> Value {
    let writes = Writes::default();
    let mut message = message(Channel::Email, "ann@example.com");
    message.recipient = "direct:ann@example.com||||".into();
    LogChannel::new(writes.clone(), config).deliver(&message).await.unwrap();
    let writes = writes.0.lock().unwrap();
    assert_eq!(writes.len(), 1, "a line is one write");
    assert!(writes[0].ends_with("}\n"));
    serde_json::from_str(&writes[0]).unwrap()
}

#[tokio::test]
async fn a_line_says_which_message_went_where_and_shows_no_address_and_no_content() {
    let line = line(LogConfig::default()).await;
    let message = message(Channel::Email, "");
    assert_eq!(line["id"], message.id.to_string());
    assert_eq!(line["request_id"], message.request_id.to_string());
    assert_eq!(line["channel"], "email");
    assert_eq!(line["address"], "a***@example.com");
    assert_eq!(line["recipient"], "direct:a***@example.com||||");
    assert_eq!(line.get("content"), None);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    assert!((now - 60_000_000..=now).contains(&line["at_micros"].as_u64().unwrap()));
}

#[tokio::test]
async fn addresses_and_content_are_shown_where_asked_for() {
    let line = line(LogConfig { addresses: true, content: true }).await;
    assert_eq!(line["address"], "ann@example.com");
    assert_eq!(line["recipient"], "direct:ann@example.com||||");
    assert_eq!(line["content"]["title"], "Grüße");
}

#[tokio::test]
async fn several_channels_append_whole_lines_to_one_file() {
    let path = std::env::temp_dir().join(format!("claimstream-log-{}.jsonl", std::process::id()));
    let write = |n: u32| {
        let path = path.clone();
        std::thread::spawn(move || {
            let channel = LogChannel::append(path, LogConfig { addresses: true, content: true }).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let message = message(Channel::Sms, &format!("+49{n}{}", "0".repeat(2_000)));
            for _ in 0..200 {
                runtime.block_on(channel.deliver(&message)).unwrap();
            }
        })
    };
    let writers: Vec<_> = (0..4).map(write).collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 800);
}

#[tokio::test]
async fn a_writer_that_fails_may_work_later() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let refused = LogChannel::new(Full, LogConfig::default()).deliver(&message(Channel::Sms, "+491")).await;
    assert!(matches!(refused, Err(DeliveryError::Transient { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_line_after_a_torn_one_stands_alone_and_a_failure_leaves_no_empty_line() {
    let disk = Disk::default();
    let channel = LogChannel::new(disk.clone(), LogConfig::default());
    let room = |bytes| disk.0.lock().unwrap().room = bytes;
    let message = message(Channel::Sms, "+491");
    for bytes in [10, 0, 1] {
        room(bytes);
        channel.deliver(&message).await.unwrap_err();
    }
    room(usize::MAX);
    channel.deliver(&message).await.unwrap();
    room(0);
    channel.deliver(&message).await.unwrap_err();
    room(usize::MAX);
    channel.deliver(&message).await.unwrap();
    let text = String::from_utf8(disk.0.lock().unwrap().written.clone()).unwrap();
    let lines: Vec<_> = text.lines().map(|line| serde_json::from_str::<Value>(line).is_ok()).collect();
    assert_eq!(lines, [false, true, true], "{text}");
}

/// A disk that takes as many bytes as it has room for, and refuses the rest.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Space>>);

#[derive(Default)]
struct Space {
    room: usize,
    written: Vec<u8>,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut space = self.0.lock().unwrap();
        let taken = bytes.len().min(space.room);
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        space.room -= taken;
        space.written.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
