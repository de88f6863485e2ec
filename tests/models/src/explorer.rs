use crate::{
    Broken, Exploration, Protocol, Requirement,
    graph::{Breach, Graph},
};

/// The most states that are followed; a protocol that has more must be given narrower bounds.
pub const MOST_STATES: usize = 1_000_000;

/// Follows every course of events, breadth first, and answers for each promise whether it was kept.
///
/// A course that breaks a promise is one of the shortest that do. Panics beyond [`MOST_STATES`]: then nothing was proven.
pub fn explore<P: Protocol>(protocol: &P) -> Exploration {
    let graph = Graph::of(protocol, MOST_STATES, |_, _| false);
    let breaches = protocol.promises().into_iter().filter_map(|promise| {
        let breach = graph.first_breach(&promise.requirement)?;
        Some(broken(protocol, &graph, promise.name, breach))
    });
    graph.exploration(breaches.collect())
}

/// Follows courses of events until one breaks the promise of this name, and answers how it came to that.
///
/// Panics if none does.
pub fn refute<P: Protocol>(protocol: &P, name: &str) -> Exploration {
    let promise = protocol.promises().into_iter().find(|promise| promise.name == name);
    let promise = promise.unwrap_or_else(|| panic!("no promise is named {name}"));
    let graph = match promise.requirement {
        Requirement::Always(holds) => Graph::of(protocol, MOST_STATES, |_, to| !holds(to)),
        Requirement::EveryStep(holds) => Graph::of(protocol, MOST_STATES, |from, to| !holds(from, to)),
        Requirement::StillPossible(_) | Requirement::Happens(_) => {
            Graph::of(protocol, MOST_STATES, |_, _| false)
        }
    };
    let breach = graph.first_breach(&promise.requirement);
    let breach =
        breach.unwrap_or_else(|| panic!("{name} is kept in all {} states", graph.exploration(vec![])));
    let broken = broken(protocol, &graph, promise.name, breach);
    graph.exploration(vec![broken])
}

fn broken<P: Protocol>(
    protocol: &P,
    graph: &Graph<P::State>,
    promise: &'static str,
    breach: Breach,
) -> Broken {
    let pairs = graph.course(breach);
    let steps = pairs.into_iter().map(|(from, to)| {
        let taken = protocol.steps(from).into_iter().find(|(_, next)| next == to);
        taken.map_or_else(String::new, |(step, _)| step.to_string())
    });
    Broken { promise, course: steps.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Promise;

    /// Counts up to three, and may fall into a hole at two.
    struct Counter;

    impl Protocol for Counter {
        type State = u8;
        type Step = String;

        fn start(&self) -> u8 {
            0
        }

        fn steps(&self, state: &u8) -> Vec<(String, u8)> {
            match *state {
                2 => vec![("to 3".into(), 3), ("into the hole".into(), 9)],
                3 | 9 => vec![("stays".into(), *state)],
                n => vec![(format!("to {}", n + 1), n + 1)],
            }
        }

        fn promises(&self) -> Vec<Promise<u8>> {
            vec![
                Promise::always("stays_below_three", |n| *n < 3 || *n == 9),
                Promise::every_step("counts_by_one", |from, to| *to == 9 || to - from <= 1),
                Promise::every_step("never_jumps", |from, to| to - from <= 1),
                Promise::still_possible("can_reach_three", |n| *n == 3),
                Promise::happens("reaches_seven", |n| *n == 7),
            ]
        }
    }

    #[test]
    fn finds_the_shortest_course_to_each_breach() {
        let found = explore(&Counter);
        assert_eq!((found.states, found.steps, found.depth), (5, 6, 3));
        assert_eq!(found.course("stays_below_three"), Some(&["to 1", "to 2", "to 3"].map(String::from)[..]));
        let hole = ["to 1", "to 2", "into the hole"].map(String::from);
        assert_eq!(found.course("never_jumps"), Some(&hole[..]));
        assert_eq!(found.course("can_reach_three"), Some(&hole[..]));
        assert_eq!(found.course("reaches_seven"), Some(&[][..]));
        assert_eq!(found.course("counts_by_one"), None);
    }

    #[test]
    fn a_promise_is_refuted_by_the_same_course_in_fewer_states() {
        for promise in ["stays_below_three", "never_jumps", "can_reach_three"] {
            let (found, whole) = (refute(&Counter, promise), explore(&Counter));
            assert_eq!(found.course(promise), whole.course(promise));
            assert!(found.states <= whole.states);
        }
    }

    #[test]
    #[should_panic(expected = "counts_by_one is kept in all 5 states")]
    fn a_promise_that_is_kept_is_not_refuted() {
        refute(&Counter, "counts_by_one");
    }

    #[test]
    #[should_panic(expected = "more than 4 states")]
    fn does_not_call_a_part_the_whole() {
        Graph::of(&Counter, 4, |_, _| false);
    }
}
