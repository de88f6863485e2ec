use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

/// Stands before a server and can freeze: connections stay, new ones are made, and not a byte passes, as when the server's machine
/// hangs.
pub(super) struct FreezingProxy {
    port: u16,
    frozen: Arc<Frozen>,
}

/// Whether bytes are kept, and what wakes those who wait until they pass.
#[derive(Default)]
struct Frozen {
    is_frozen: Mutex<bool>,
    thawed: Condvar,
}

impl FreezingProxy {
    /// Before the server of this URL.
    pub(super) fn before(url: &str) -> Self {
        let server = host_and_port(url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let frozen = Arc::<Frozen>::default();
        let freezes = Arc::clone(&frozen);
        // It ends with the process of the tests.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(&server) {
                    pass_on(&client, &server, &freezes);
                    pass_on(&server, &client, &freezes);
                }
            }
        });
        Self { port, frozen }
    }

    /// The URL with the proxy in place of the server.
    pub(super) fn url(&self, url: &str) -> String {
        url.replacen(host_and_port(url), &format!("127.0.0.1:{}", self.port), 1)
    }

    pub(super) fn freeze(&self) {
        *self.frozen.is_frozen.lock().unwrap() = true;
    }

    pub(super) fn thaw(&self) {
        *self.frozen.is_frozen.lock().unwrap() = false;
        self.frozen.thawed.notify_all();
    }
}

fn host_and_port(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn pass_on(from: &TcpStream, to: &TcpStream, frozen: &Arc<Frozen>) {
    let (mut from, mut to, frozen) = (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(frozen));
    thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            let is_frozen = frozen.is_frozen.lock().unwrap();
            drop(frozen.thawed.wait_while(is_frozen, |is_frozen| *is_frozen).unwrap());
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
