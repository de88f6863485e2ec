use std::collections::{BTreeMap, VecDeque};

use crate::Invalid;

/// Hands a fixed number of places out to parties, in turn between those that wait.
///
/// A party, such as the relay on one database, has several askers, such as its pipelines. While places are free, each asker gets what it
/// asks for. Once they are not, each place that is given back goes to the next party in turn that has an asker waiting, and within the party to
/// the asker that has waited for longest. Half of its equal share is kept free for each party, so that others whose places come
/// back late, because their database is away, cannot hold all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FairShares {
    most: u32,
    parties: BTreeMap<u64, Party>,
    /// The parties with askers that wait, the one whose turn is next first.
    turns: VecDeque<u64>,
    joined: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Party {
    held: u32,
    /// The one that has waited for longest first.
    waiting: VecDeque<u64>,
}

/// A place that was given to an asker that waited: the party, and the asker.
pub type GrantedPlace = (u64, u64);

impl FairShares {
    /// So many places; refuses none.
    pub fn new(most: u32) -> Result<Self, Invalid> {
        match most {
            0 => Err(Invalid::OutOfRange {
                what: "shared concurrency",
                given: "0".into(),
                allowed: "at least 1".into(),
            }),
            _ => Ok(Self { most, parties: BTreeMap::new(), turns: VecDeque::new(), joined: 0 }),
        }
    }

    /// How many places there are.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// How many places all parties hold.
    pub fn held(&self) -> u32 {
        self.parties.values().map(|party| party.held).sum()
    }

    /// Lets one more party in; answers its number, and who gets places because others are kept free now.
    pub fn join(&mut self) -> (u64, Vec<GrantedPlace>) {
        self.joined += 1;
        self.parties.insert(self.joined, Party::default());
        (self.joined, self.grant())
    }

    /// Takes the places of a party back, and forgets it; answers who gets them.
    pub fn leave(&mut self, party: u64) -> Vec<GrantedPlace> {
        self.parties.remove(&party);
        self.turns.retain(|waiting| *waiting != party);
        self.grant()
    }

    /// Takes up to `wanted` places at once, and answers how many were free for the party.
    pub fn take(&mut self, party: u64, wanted: u32) -> u32 {
        let taken = (0..wanted).take_while(|_| self.take_one(party)).count();
        // No more than was wanted.
        taken as u32
    }

    /// Lets an asker wait for a place; one that waits already keeps its turn.
    pub fn wait(&mut self, party: u64, asker: u64) {
        let Some(found) = self.parties.get_mut(&party) else { return };
        if !found.waiting.contains(&asker) {
            found.waiting.push_back(asker);
        }
        if !self.turns.contains(&party) {
            self.turns.push_back(party);
        }
    }

    /// Lets an asker wait no longer.
    pub fn withdraw(&mut self, party: u64, asker: u64) {
        let Some(found) = self.parties.get_mut(&party) else { return };
        found.waiting.retain(|waiting| *waiting != asker);
        if found.waiting.is_empty() {
            self.turns.retain(|waiting| *waiting != party);
        }
    }

    /// Gives places back; answers which askers have one now that waited.
    pub fn give_back(&mut self, party: u64, places: u32) -> Vec<GrantedPlace> {
        if let Some(found) = self.parties.get_mut(&party) {
            found.held = found.held.saturating_sub(places);
        }
        self.grant()
    }

    /// Gives free places to askers that wait, in turn.
    fn grant(&mut self) -> Vec<GrantedPlace> {
        let mut granted = Vec::new();
        while let Some(turn) = self.turns.iter().position(|party| self.may_take(*party)) {
            let Some(party) = self.turns.remove(turn) else { break };
            let Some(found) = self.parties.get_mut(&party) else { continue };
            let Some(asker) = found.waiting.pop_front() else { continue };
            found.held += 1;
            if !found.waiting.is_empty() {
                self.turns.push_back(party);
            }
            granted.push((party, asker));
        }
        granted
    }

    fn take_one(&mut self, party: u64) -> bool {
        let may = self.may_take(party);
        if let Some(found) = self.parties.get_mut(&party).filter(|_| may) {
            found.held += 1;
        }
        may
    }

    /// Whether one more place is free for the party: one that is kept for it, or one that is kept for no party.
    fn may_take(&self, party: u64) -> bool {
        let Some(found) = self.parties.get(&party) else { return false };
        let kept = self.kept();
        let beyond: u32 = self.parties.values().map(|party| party.held.saturating_sub(kept)).sum();
        let for_all = self.most.saturating_sub(kept.saturating_mul(self.parties.len() as u32));
        self.held() < self.most && (found.held < kept || beyond < for_all)
    }

    /// How many places are kept for each party.
    fn kept(&self) -> u32 {
        match self.parties.len() as u32 {
            // No party is there that the others could hold up.
            0 | 1 => 0,
            parties => (self.most / parties.saturating_mul(2)).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(most: u32, parties: usize) -> (FairShares, Vec<u64>) {
        let mut shares = FairShares::new(most).unwrap();
        let parties = (0..parties).map(|_| shares.join().0).collect();
        (shares, parties)
    }

    #[test]
    fn a_party_alone_has_all_places() {
        let (mut shares, parties) = shares(4, 1);
        assert_eq!((shares.take(parties[0], 9), shares.held()), (4, 4));
        assert!(FairShares::new(0).is_err());
    }

    #[test]
    fn half_of_its_equal_share_is_kept_for_each_party() {
        let (mut shares, parties) = shares(32, 4);
        // One whose places never come back has all but what is kept for the others.
        assert_eq!(shares.take(parties[0], 100), 32 - 3 * 4);
        assert_eq!(parties[1..].iter().map(|party| shares.take(*party, 100)).sum::<u32>(), 12);
        assert_eq!(shares.held(), 32);
    }

    #[test]
    fn what_comes_back_goes_round_between_parties_and_then_between_askers() {
        let (mut shares, parties) = shares(4, 2);
        let [a, b] = parties[..] else { panic!() };
        assert_eq!((shares.take(a, 9), shares.take(b, 9)), (3, 1));
        for asker in [11, 12, 13] {
            shares.wait(a, asker);
        }
        shares.wait(b, 21);
        // Three of four places are held by `a`, of which one is kept; `b` waits for the next that is kept for no party.
        assert_eq!(shares.give_back(a, 1), [(a, 11)]);
        assert_eq!(shares.give_back(a, 1), [(b, 21)]);
        assert_eq!(shares.give_back(b, 1), [(a, 12)]);
        shares.withdraw(a, 13);
        assert_eq!(shares.give_back(a, 1), []);
    }

    #[test]
    fn those_that_leave_leave_their_places() {
        let (mut shares, parties) = shares(2, 2);
        let [a, b] = parties[..] else { panic!() };
        assert_eq!((shares.take(a, 9), shares.take(b, 9)), (1, 1));
        shares.wait(b, 21);
        shares.wait(a, 11);
        assert_eq!(shares.leave(a), [(b, 21)]);
        assert_eq!((shares.held(), shares.take(a, 1)), (2, 0));
    }

    #[derive(Clone, Debug)]
    enum Doing {
        Ask(usize, u64, u32),
        GiveBack(usize, u32),
        Withdraw(usize, u64),
        Join,
        Leave(usize),
    }

    fn doing() -> impl Strategy<Value = Doing> {
        prop_oneof![
            6 => (0..6_usize, 0..3_u64, 1..5_u32).prop_map(|(party, asker, many)| Doing::Ask(party, asker, many)),
            6 => (0..6_usize, 1..4_u32).prop_map(|(party, many)| Doing::GiveBack(party, many)),
            1 => (0..6_usize, 0..3_u64).prop_map(|(party, asker)| Doing::Withdraw(party, asker)),
            1 => Just(Doing::Join),
            1 => (0..6_usize).prop_map(Doing::Leave),
        ]
    }

    proptest! {
        /// Whatever happens: never more places than there are, and never a free one while an asker could have it.
        #[test]
        fn no_place_is_given_twice_or_left_free_while_one_asks(
            most in 1..12_u32,
            doings in prop::collection::vec(doing(), 1..120),
        ) {
            let (mut shares, mut parties) = shares(most, 2);
            for doing in doings {
                let at = |number: usize| parties[number % parties.len()];
                match doing {
                    Doing::Ask(party, asker, many) => {
                        if shares.take(at(party), many) == 0 {
                            shares.wait(at(party), asker);
                        }
                    }
                    Doing::GiveBack(party, many) => drop(shares.give_back(at(party), many)),
                    Doing::Withdraw(party, asker) => shares.withdraw(at(party), asker),
                    Doing::Join if parties.len() < 6 => parties.push(shares.join().0),
                    Doing::Leave(party) if parties.len() > 1 => {
                        let left = parties.remove(party % parties.len());
                        shares.leave(left);
                    }
                    Doing::Join | Doing::Leave(_) => {}
                }
                prop_assert!(shares.held() <= most, "{shares:?}");
                let could = shares.turns.iter().find(|party| shares.may_take(**party));
                prop_assert!(could.is_none(), "{could:?} waits with a free place: {shares:?}");
            }
        }
    }
}
