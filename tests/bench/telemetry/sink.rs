use std::{
    io::Write,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::collector::read_message;

/// A collector that takes everything and keeps how much it was.
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    taken: Arc<AtomicUsize>,
}

impl Sink {
    pub(crate) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let sink = Self { address: listener.local_addr()?, taken: Arc::default() };
        let taken = Arc::clone(&sink.taken);
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let taken = Arc::clone(&taken);
                thread::spawn(move || {
                    while let Ok(bytes) = read_message(&stream) {
                        taken.fetch_add(bytes, Relaxed);
                        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Ok(sink)
    }

    /// How many bytes have come since the last time.
    pub(crate) fn take(&self) -> usize {
        self.taken.swap(0, Relaxed)
    }
}
