use std::{
    convert::Infallible, fmt, future::pending, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use axum::Router;
use claimstream_ports::{Timer, within};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use crate::{probes::Probes, service::Service, stalling::Stalling};

/// Serves a [`Service`] over HTTP/1.1, without encryption: put a proxy that speaks TLS in front of it.
pub struct Server {
    listener: TcpListener,
    timer: Arc<dyn Timer>,
}

/// How a server ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drained {
    /// Everything that was accepted was answered.
    Wholly,
    /// Connections were still open when the time was over; what they had handed in is committed or refused all the same.
    Partly,
}

impl Server {
    /// How long the listener rests after an error, such as having no file descriptor left.
    const REST: Duration = Duration::from_millis(100);
    /// How many connections a router other than a service's may have at a time.
    const ROUTER_CONNECTIONS: usize = 64;
    /// How long a connection of such a router may be idle.
    const ROUTER_IDLE: Duration = Duration::from_secs(60);

    /// Listens at an address; port 0 takes any that is free. It waits by `timer`, but for the heads of requests, which hyper waits for.
    pub async fn bind(address: SocketAddr, timer: Arc<dyn Timer>) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address).await?, timer })
    }

    /// The address that it listens at.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is ready. Then it accepts no more connections, lets those that are open finish their request for
    /// at most [`drain`](crate::Limits::drain), and waits until all that was handed in is committed or refused.
    pub async fn run_until(self, service: Service, shutdown: impl Future<Output = ()>) -> Drained {
        let (router, limits) = (service.router(), service.limits().clone());
        let (open, places) = (
            GracefulShutdown::new(),
            Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS))),
        );
        let until = async {
            tokio::select! {
                biased;
                () = shutdown => {}
                never = service.upkeep() => match never {},
            }
        };
        let timeouts = ClientTimeouts { idle: limits.idle, unread: limits.timeout };
        self.accept_until(&router, &places, timeouts, &open, until).await;
        service.stop();
        drop(self.listener);
        let ended = within(&*self.timer, limits.drain, open.shutdown()).await;
        service.finish().await;
        if ended.is_some() { Drained::Wholly } else { Drained::Partly }
    }

    /// Serves probes for as long as it is polled. What is asked while it is dropped gets no answer.
    pub async fn run_probes(self, probes: Probes) -> Infallible {
        self.run_router(probes.router()).await
    }

    /// The same with any router: for pages next to the service, which few people look at.
    pub async fn run_router(self, router: Router) -> Infallible {
        let (places, open) = (Arc::new(Semaphore::new(Self::ROUTER_CONNECTIONS)), GracefulShutdown::new());
        let timeouts = ClientTimeouts { idle: Self::ROUTER_IDLE, unread: Self::ROUTER_IDLE };
        loop {
            self.accept_until(&router, &places, timeouts, &open, pending()).await;
        }
    }

    /// Accepts connections and serves the router on each, in tasks of their own, until `until` is ready.
    async fn accept_until(
        &self,
        router: &Router,
        places: &Arc<Semaphore>,
        timeouts: ClientTimeouts,
        open: &GracefulShutdown,
        until: impl Future<Output = ()>,
    ) {
        let mut until = pin!(until);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut until => return,
                accepted = accept(&self.listener, places) => accepted,
            };
            match accepted {
                Ok((stream, place)) => {
                    let stream = Stalling::new(stream, timeouts.unread, Arc::clone(&self.timer));
                    let connection =
                        ClientConnection { stream, place, router: router.clone(), idle: timeouts.idle };
                    tokio::spawn(connection.serve(open.watcher()));
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted");
                    self.timer.sleep(Self::REST).await;
                }
            }
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

/// Accepts a connection as soon as there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

/// How long a connection waits for its client.
#[derive(Clone, Copy)]
struct ClientTimeouts {
    /// For the head of a request.
    idle: Duration,
    /// Until it takes more of an answer.
    unread: Duration,
}

/// The longest head of a request. A client can have the server hold so many bytes for a while, by each connection.
const MAX_HEAD_BYTES: usize = 32 * 1024;

struct ClientConnection {
    stream: Stalling,
    place: OwnedSemaphorePermit,
    router: Router,
    idle: Duration,
}

impl ClientConnection {
    async fn serve(self, watcher: Watcher) {
        let Self { stream, place, router, idle } = self;
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(idle)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection has ended");
        }
        drop(place);
    }
}
