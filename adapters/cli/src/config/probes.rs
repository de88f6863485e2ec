use std::{net::SocketAddr, time::Duration};

use super::{contradiction::Contradiction, setting::Setting};

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

    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let least = Duration::from_secs(1);
        let often = self.count_every < least;
        often.then(|| {
            ("probes.count_every".into(), "count at most once a second; set it to 1s or longer".into())
        })
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self { listen: None, count_every: Duration::from_secs(15) }
    }
}
