use std::time::Duration;

use claimstream_domain::Shard;
use claimstream_ports::{StoreError, StoreErrorKind};

use crate::{
    database::{
        args::Args,
        classify::{classify, is_locked_by_another, may_have_committed},
        deadline::in_time,
    },
    strategy::shard_lease::{
        claim::{
            claiming::{CLAIM, Claiming},
            hand_out::next_fence,
            place::{Fate, Place, Room},
        },
        lease::{together::Outcome, write::NextFence},
        leases::ShardLease,
        shard_key::ShardKey,
        shard_state::LeaseStatus,
    },
};

impl Claiming<'_> {
    /// The fewest rows that are read of a shard together with others.
    const LEAST: usize = 8;

    /// Looks at all shards, takes a few messages from each that is due, and from what is left one by one.
    pub(super) async fn take_thinly(&mut self) -> Result<(), StoreError> {
        self.walk.note_look();
        self.look().await?;
        match Box::pin(self.visit_together()).await {
            Err(error) if matches!(error.kind(), StoreErrorKind::Transient | StoreErrorKind::Corrupt) => {
                self.on.rest();
                self.trouble.get_or_insert(error);
            }
            done => done?,
        }
        self.walk_shards().await
    }

    /// Takes a few messages from each of the shards that are due, by one read and one write of their leases. What is not to be had
    /// in that way stays due for the visits that follow: a shard in which another call is at work, one to be taken over, a
    /// locked one, one with messages that were cut off or whose claims ran out, and one that has more than its share.
    async fn visit_together(&mut self) -> Result<(), StoreError> {
        let mut places = self.enter_together().await;
        if places.len() < 2 {
            places.iter().for_each(|place| self.leave_due(place.visit.key.shard));
            return Ok(());
        }
        let begun = self.store.db.clock.elapsed();
        if let Err(error) = self.read_together(&mut places).await {
            self.has_left_some = true;
            places.iter().for_each(|place| self.leave_due(place.visit.key.shard));
            return Err(error);
        }
        let share = self.share(places.len());
        let mut room = Room { messages: self.wanted(), bytes: self.bytes_left() };
        let mut taken = Vec::with_capacity(places.len());
        for mut place in places {
            let fate = self.judge(&mut place, share, &mut room);
            self.has_left_some |= fate == Fate::Alone || (fate == Fate::Taken && !place.is_all);
            match fate {
                Fate::Taken => taken.push(place),
                Fate::Short => self.leave_short(place.visit.key.shard),
                Fate::Alone => self.leave_due(place.visit.key.shard),
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        self.write_together(taken, begun).await
    }

    /// How many messages a claim takes from each of so many shards: its share and as much again.
    fn share(&self, shards: usize) -> usize {
        (2 * self.wanted()).div_ceil(shards.max(1)).max(Self::LEAST).min(self.wanted())
    }

    /// The turns and states of the shards that are due, as far as they are to be had without a wait. They are entered in the order
    /// of their numbers, and come in the order in which it is their turn to be claimed from.
    async fn enter_together(&mut self) -> Vec<Place> {
        let queue = self.request.queue.clone();
        let mut shards = Vec::new();
        let most = ShardLease::TOGETHER.min(self.wanted());
        while shards.len() < most
            && let Some(shard) = self.walk.next_hot()
        {
            shards.push(shard);
        }
        let turns = shards.clone();
        shards.sort();
        let mut places = Vec::with_capacity(shards.len());
        for shard in shards {
            match self.enter(ShardKey { queue: queue.clone(), shard }).await {
                Some(place) => places.push(place),
                None => self.leave_due(shard),
            }
        }
        places.sort_by_key(|place| turns.iter().position(|shard| *shard == place.visit.key.shard));
        places
    }

    async fn read_together(&mut self, places: &mut [Place]) -> Result<(), StoreError> {
        in_time(CLAIM, self.on.connect(), classify).await?;
        let share = self.share(places.len());
        for place in places.iter_mut() {
            place.limit = place.state.in_flight.len() + share;
        }
        self.read_places(places).await
    }

    /// Writes the leases of shards by one statement, and hands out what was picked in those that were written.
    async fn write_together(&mut self, mut places: Vec<Place>, begun: Duration) -> Result<(), StoreError> {
        let leases: Vec<Args> = places.iter_mut().map(|place| self.note(place)).collect();
        let written = self.store.write_leases_at_once(&self.on, &leases).await;
        let now = self.store.db.clock.elapsed();
        for place in &mut places {
            place.state.written = Some(now);
        }
        let outcomes = match written {
            Ok(outcomes) => outcomes,
            Err(locked) if is_locked_by_another(&locked) => {
                // None was written. Those that are not locked are visited one by one.
                let keys: Vec<_> = places.iter().map(|place| place.visit.key.clone()).collect();
                Box::pin(self.store.note_locked(&self.on, &keys)).await;
                places.iter_mut().for_each(|place| self.undo(place));
                return Ok(());
            }
            Err(error) if may_have_committed(&error) => {
                places.iter_mut().for_each(|place| self.doubt(place));
                return Err(error);
            }
            Err(error) => {
                places.iter_mut().for_each(|place| self.undo(place));
                return Err(error);
            }
        };
        for (mut place, outcome) in places.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Written => self.hand_out_place(place, begun),
                Outcome::NotOurs => {
                    place.state.lose();
                    self.leave_short(place.visit.key.shard);
                }
                Outcome::InDoubt => self.doubt(&mut place),
            }
        }
        Ok(())
    }

    /// Notes what was picked as in flight, and answers the arguments that write the lease.
    fn note(&self, place: &mut Place) -> Args {
        let Place { visit, state, due, picked, noted, fence, .. } = place;
        let next = next_fence(state, due);
        state.label = self.request.owner.label().to_owned();
        *noted = self.note_in_flight(state, due, picked, Duration::ZERO);
        *fence = state.fence + i64::from(next == NextFence::Raised);
        self.store.state_args(state, &Default::default(), &visit.key, *fence, None)
    }

    fn hand_out_place(&mut self, place: Place, begun: Duration) {
        let Place { mut visit, mut state, due, picked, is_all, fence, .. } = place;
        state.fence = fence;
        state.flow.claimed(picked.taken.len(), is_all, begun);
        let handed_out = self.hand_out(&mut visit, &due, &picked);
        self.collected.taken.extend(handed_out);
        match is_all {
            true => self.leave_short(visit.key.shard),
            false => self.leave_due(visit.key.shard),
        }
    }

    /// The lease was not written: the shard stays due for a visit of its own.
    fn undo(&mut self, place: &mut Place) {
        self.has_left_some = true;
        place.state.undo(std::mem::take(&mut place.noted));
        self.leave_due(place.visit.key.shard);
    }

    /// It is not known whether the lease was written: nothing of it is handed out, and the next look shows.
    fn doubt(&mut self, place: &mut Place) {
        self.has_left_some = true;
        place.state.status = LeaseStatus::Unknown;
        place.state.undo(std::mem::take(&mut place.noted));
        self.leave_short(place.visit.key.shard);
    }

    /// A later visit of this call or another one comes to the shard.
    fn leave_due(&self, shard: Shard) {
        self.store.known.full(&self.request.queue, shard);
    }

    fn leave_short(&mut self, shard: Shard) {
        self.walk.note_visited(shard);
        self.store.known.short(&self.request.queue, shard);
    }
}
