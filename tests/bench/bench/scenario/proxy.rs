use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::Failure;

/// A way to the server that takes longer: half the delay there, half of it back.
///
/// It is made of threads, because the timers of the runtime tick in milliseconds, and half of half a millisecond is less.
pub(super) struct Proxy {
    address: SocketAddr,
}

impl Proxy {
    pub(super) fn start(url: &str, delay: Duration) -> Result<Self, Failure> {
        let server = server_of(url)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        // It ends with the process; no client connects to it after its round.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that cannot be made is closed, and its client sees that.
                if let Ok(server) = TcpStream::connect(server) {
                    let _ = carry_both_ways(client, server, delay / 2);
                }
            }
        });
        Ok(Self { address })
    }

    /// The same database by this way.
    pub(super) fn url(&self, url: &str) -> Result<String, Failure> {
        let server = host_and_port(url)?;
        Ok(url.replacen(server, &self.address.to_string(), 1))
    }
}

fn carry_both_ways(client: TcpStream, server: TcpStream, delay: Duration) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    carry(client.try_clone()?, server.try_clone()?, delay);
    carry(server, client, delay);
    Ok(())
}

/// One thread reads and notes when a piece is due, one waits and writes, so that pieces do not wait for each other.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut piece) {
            if sender.send((Instant::now() + delay, piece[..length].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, piece) in pieces {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn server_of(url: &str) -> Result<SocketAddr, Failure> {
    let server = host_and_port(url)?;
    let server = if server.contains(':') { server.to_owned() } else { format!("{server}:3306") };
    Ok(server.to_socket_addrs()?.next().ok_or("the server has no address")?)
}

/// The part of a URL that names the server.
fn host_and_port(url: &str) -> Result<&str, Failure> {
    let (_, rest) = url.split_once("://").ok_or("not a URL")?;
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    Ok(authority.rsplit_once('@').map_or(authority, |(_, server)| server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_server_changes_in_a_url() {
        assert_eq!(host_and_port("mysql://root:a@db:3307/x?ssl-mode=disabled").unwrap(), "db:3307");
        let proxy = Proxy { address: "127.0.0.1:9".parse().unwrap() };
        assert_eq!(proxy.url("mysql://root@db:3307/x?a=b").unwrap(), "mysql://root@127.0.0.1:9/x?a=b");
    }

    #[test]
    fn what_is_sent_arrives_later_and_whole() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("mysql://root@{}/x", server.local_addr().unwrap());
        let proxy = Proxy::start(&url, Duration::from_millis(40)).unwrap();
        let began = Instant::now();
        let mut client = TcpStream::connect(proxy.address).unwrap();
        client.write_all(b"hello").unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut received = [0; 5];
        accepted.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"hello");
        assert!(began.elapsed() >= Duration::from_millis(20));
    }
}
