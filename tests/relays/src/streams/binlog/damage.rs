use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A way to a server that can damage the descriptions of one table in what the server sends, so that nothing can read them. Tables of that
/// name in other databases, into which other tests write meanwhile, are left alone.
pub(super) struct Damage {
    pub(super) url: String,
    is_on: Arc<AtomicBool>,
}

impl Damage {
    pub(super) async fn on_the_way_to(url: &str, table: &str) -> Self {
        let (_, rest) = url.split_once('@').expect("a user");
        let (server, rest) = rest.split_once('/').expect("a database");
        let (database, _) = rest.split_once('?').expect("parameters");
        let described = Described::of(database, table);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let damage = Self {
            url: url.replace(server, &listener.local_addr().expect("an address").to_string()),
            is_on: Arc::default(),
        };
        let (server, is_on) = (server.to_owned(), Arc::clone(&damage.is_on));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.expect("the server");
                tokio::spawn(pass(client, server, described.clone(), Arc::clone(&is_on)));
            }
        });
        damage
    }

    pub(super) fn begin(&self) {
        self.is_on.store(true, Ordering::SeqCst);
    }
}

async fn pass(client: TcpStream, server: TcpStream, described: Described, is_on: Arc<AtomicBool>) {
    let (mut asks, mut receives) = client.into_split();
    let (mut answers, mut takes) = server.into_split();
    let ask = async {
        let _ = tokio::io::copy(&mut asks, &mut takes).await;
    };
    let answer = async {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = answers.read(&mut bytes).await {
            if is_on.load(Ordering::SeqCst) {
                described.damage(&mut bytes[..count]);
            }
            if receives.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = ask => (),
        () = answer => (),
    }
}

/// How the server describes a table: its database and its own name, each after its length and before a zero.
#[derive(Clone)]
struct Described {
    text: Vec<u8>,
    /// Where the length of the table's name is.
    length_at: usize,
}

impl Described {
    fn of(database: &str, table: &str) -> Self {
        let database = [&[database.len() as u8], database.as_bytes(), &[0]].concat();
        let table = [&[table.len() as u8], table.as_bytes()].concat();
        Self { length_at: database.len(), text: [database, table].concat() }
    }

    /// Makes the length of the table's name greater than the event.
    fn damage(&self, bytes: &mut [u8]) {
        let found: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&self.text)).collect();
        found.into_iter().for_each(|at| bytes[at + self.length_at] = u8::MAX - 4);
    }
}
