use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A way to a server that can damage the descriptions of one table in what the server sends, so that nothing can read them.
pub(super) struct Damage {
    pub(super) url: String,
    is_on: Arc<AtomicBool>,
}

impl Damage {
    pub(super) async fn on_the_way_to(url: &str, table: &'static str) -> Self {
        let (_, rest) = url.split_once('@').expect("a user");
        let (server, _) = rest.split_once('/').expect("a database");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let damage = Self {
            url: url.replace(server, &listener.local_addr().expect("an address").to_string()),
            is_on: Arc::default(),
        };
        let (server, is_on) = (server.to_owned(), Arc::clone(&damage.is_on));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                tokio::spawn(pass(client, server, table, Arc::clone(&is_on)));
            }
        });
        damage
    }

    pub(super) fn begin(&self) {
        self.is_on.store(true, Ordering::SeqCst);
    }
}

async fn pass(client: TcpStream, server: TcpStream, table: &str, is_on: Arc<AtomicBool>) {
    let (mut asks, mut hears) = client.into_split();
    let (mut answers, mut takes) = server.into_split();
    let ask = async {
        let _ = tokio::io::copy(&mut asks, &mut takes).await;
    };
    let answer = async {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = answers.read(&mut bytes).await {
            if is_on.load(Ordering::SeqCst) {
                damage(&mut bytes[..count], table);
            }
            if hears.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = ask => (),
        () = answer => (),
    }
}

/// A name follows its length, which is made longer than the event.
fn damage(bytes: &mut [u8], table: &str) {
    let name = [&[table.len() as u8], table.as_bytes()].concat();
    let found: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&name)).collect();
    found.into_iter().for_each(|at| bytes[at] = u8::MAX - 4);
}
