use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use claimstream_domain::{Reason, publishing::Confirmed};

/// What all calls of a handler know of its broker: how much it has confirmed, and since when it or one of its places is away.
pub(crate) struct Pulse {
    /// The broker, for logs.
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many messages the broker has confirmed.
    confirmed: u64,
    away_since: Option<Duration>,
    /// Whether the log says that the broker confirms nothing.
    is_said: bool,
    /// Places that did not confirm a message.
    places: BTreeMap<String, Place>,
}

#[derive(Default)]
struct Place {
    /// How much the broker had confirmed when it last confirmed something here.
    confirmed: u64,
    /// How much it had confirmed when a message was not confirmed here, for the first time since then.
    failed_at: Option<u64>,
    away_since: Option<Duration>,
    noted: Duration,
}

impl Pulse {
    /// How many places are remembered at least, and for how long.
    const PLACES: usize = 1000;
    const REMEMBERED: Duration = Duration::from_secs(120);

    pub(crate) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), state: Mutex::default() }
    }

    /// How much the broker has confirmed, and when it last did at this place.
    pub(crate) fn confirmed(&self, place: &str) -> Confirmed {
        let state = self.state();
        let here = state.places.get(place).map_or(0, |it| it.confirmed);
        Confirmed { here, anywhere: state.confirmed }
    }

    /// Since when the broker has confirmed nothing, by the handler's timer; `None` while it confirms.
    pub(crate) fn away_since(&self) -> Option<Duration> {
        self.state().away_since
    }

    /// Whether a place takes nothing.
    pub(crate) fn has_place_away(&self) -> bool {
        self.state().places.values().any(|place| place.away_since.is_some())
    }

    /// Notes that a message was confirmed at this place.
    pub(crate) fn note_confirmed(&self, place: &str) {
        let mut state = self.state();
        state.confirmed += 1;
        let confirmed = state.confirmed;
        state.away_since = None;
        if std::mem::take(&mut state.is_said) {
            tracing::info!(target_name = self.name, "the broker confirms messages again");
        }
        if let Some(known) = state.places.get_mut(place) {
            (known.confirmed, known.failed_at) = (confirmed, None);
            if known.away_since.take().is_some() {
                tracing::info!(target_name = self.name, place, "the place takes messages again");
            }
        }
    }

    /// Notes that a message was not confirmed at this place, which the broker may have called unavailable; answers for how long the place has
    /// been away.
    pub(crate) fn note_unconfirmed(
        &self,
        place: &str,
        reason: &Reason,
        is_unavailable: bool,
        now: Duration,
    ) -> Duration {
        let mut state = self.state();
        let confirmed = state.confirmed;
        if !state.places.contains_key(place) {
            state.make_way(now);
            state.places.insert(place.to_owned(), Place::default());
        }
        let Some(known) = state.places.get_mut(place) else { return Duration::ZERO };
        known.noted = now;
        known.failed_at.get_or_insert(confirmed);
        if is_unavailable && known.away_since.is_none() {
            known.away_since = Some(now);
            tracing::warn!(target_name = self.name, place, %reason, "the place takes nothing; its messages wait and lose no attempt");
        }
        known.away_since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Notes that a message goes back from this place. A place that has confirmed nothing while others have is away, whatever the broker says
    /// of it: it may refuse all messages.
    pub(crate) fn note_gone_back(&self, place: &str, reason: &Reason, now: Duration) {
        let mut state = self.state();
        if state.away_since.is_some() {
            return;
        }
        let confirmed = state.confirmed;
        let Some(known) = state.places.get_mut(place) else { return };
        if known.away_since.is_none() && known.failed_at.is_some_and(|then| confirmed > then) {
            known.away_since = Some(now);
            tracing::warn!(target_name = self.name, place, %reason, "the place confirms nothing while others do; its messages wait and lose no attempt");
        }
    }

    /// Notes the end of a call that did not confirm messages of these places; `before` is what the broker had confirmed when it began. Calls
    /// run at the same time, so the broker is away only if none of them had a confirmation. Nothing more is said of places that are known to be away.
    pub(crate) fn note_silence<'a>(
        &self,
        before: u64,
        failed: impl IntoIterator<Item = (&'a str, &'a Reason)>,
        now: Duration,
    ) {
        let mut state = self.state();
        if state.confirmed != before {
            return;
        }
        state.away_since.get_or_insert(now);
        let is_known = |place: &str| state.places.get(place).is_some_and(|known| known.away_since.is_some());
        let news = failed.into_iter().find(|(place, _)| !is_known(place));
        if let Some((_, reason)) = news.filter(|_| !state.is_said) {
            state.is_said = true;
            tracing::warn!(target_name = self.name, %reason, "the broker confirms nothing; messages wait and lose no attempt");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets places of which no message came for long: places are made of data, and their number has no end.
    fn make_way(&mut self, now: Duration) {
        if self.places.len() >= Pulse::PLACES {
            self.places.retain(|_, place| now.saturating_sub(place.noted) < Pulse::REMEMBERED);
        }
    }
}
