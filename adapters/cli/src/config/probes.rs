use std::{net::SocketAddr, time::Duration};

use super::{contradiction::Contradiction, setting::Setting};
use crate::not_built::not_built;

/// Where a process that delivers shows whether it is ready, and what it has measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probes {
    /// Where `/healthz`, `/readyz` and `/metrics` are served; nowhere by default.
    pub listen: Option<SocketAddr>,
    /// How often the queues are counted for the metrics; 15 s by default. Counting long queues takes time, and then it is done less
    /// often.
    pub count_every: Duration,
}

impl Probes {
    pub(super) fn each(&mut self, visit: &mut dyn FnMut(&str, &mut dyn Setting)) {
        visit("probes.listen", &mut self.listen);
        visit("probes.count_every", &mut self.count_every);
    }

    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        if self.listen.is_some() && !cfg!(feature = "http") {
            found.push(("probes.listen".into(), not_built("probes and metrics over HTTP", "http")));
        }
        if self.count_every < Duration::from_secs(1) {
            let why = "count at most once a second; set it to 1s or longer";
            found.push(("probes.count_every".into(), why.into()));
        }
        found
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self { listen: None, count_every: Duration::from_secs(15) }
    }
}
