use std::fmt;

use crate::database::topology::role::{Home, Role};

/// What is known of a server that was asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It has not answered yet.
    Awaited,
    /// It could not be asked, and why.
    Failed(String),
    /// Its address takes no connections.
    Refused(String),
    /// It has said whether it takes writes.
    Says(Role),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Awaited => "no answer yet",
            Self::Failed(why) | Self::Refused(why) | Self::Says(Role::Refuses(why)) => why,
            Self::Says(Role::Writes(_)) => "takes writes",
        })
    }
}

/// Which server is to be written to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// This one, if no other that has not answered yet speaks against it.
    Server(usize),
    /// Several take writes and do not have the same data; only an operator can say which one is right.
    Disputed(Vec<usize>),
    /// None takes writes, as far as is known.
    NoServer,
}

/// The one place that decides which server is written to.
///
/// The one that is written to stays as long as it takes writes: of a cluster all do, and a server that comes back must not take its
/// place by standing earlier in the URL.
pub(crate) fn choose(answers: &[Answer], current: Option<usize>) -> Choice {
    let home = |at: usize| match answers.get(at) {
        Some(Answer::Says(Role::Writes(home))) => Some(home),
        _ => None,
    };
    if let Some(current) = current.filter(|current| home(*current).is_some()) {
        return Choice::Server(current);
    }
    let writing: Vec<(usize, &Home)> =
        (0..answers.len()).filter_map(|at| home(at).map(|home| (at, home))).collect();
    match writing.first() {
        None => Choice::NoServer,
        Some((first, known)) if writing.iter().all(|(_, home)| home == known) => Choice::Server(*first),
        Some(_) => Choice::Disputed(writing.into_iter().map(|(at, _)| at).collect()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::database::topology::place::Place;

    fn writes(id: u8) -> Answer {
        let settings = [("server_id".to_owned(), id.to_string())].into();
        Answer::Says(Place { settings, ..Place::default() }.role())
    }

    fn refuses() -> Answer {
        Answer::Says(Role::Refuses("read_only = ON".into()))
    }

    fn any_answer() -> impl Strategy<Value = Answer> {
        prop_oneof![
            Just(Answer::Awaited),
            Just(Answer::Failed("no answer".into())),
            Just(Answer::Refused("refused".into())),
            Just(refuses()),
            (0..3_u8).prop_map(writes),
        ]
    }

    proptest! {
        #[test]
        fn only_a_server_that_takes_writes_is_chosen(
            answers in prop::collection::vec(any_answer(), 1..5),
            current in prop::option::of(0..5_usize),
        ) {
            let takes_writes = |at: usize| matches!(answers.get(at), Some(Answer::Says(Role::Writes(_))));
            match choose(&answers, current) {
                Choice::Server(at) => {
                    prop_assert!(takes_writes(at));
                    prop_assert!(current == Some(at) || current.is_none_or(|current| !takes_writes(current)));
                }
                Choice::Disputed(all) => prop_assert!(all.len() > 1 && all.into_iter().all(takes_writes)),
                Choice::NoServer => prop_assert!(!(0..answers.len()).any(takes_writes)),
            }
        }
    }

    /// Guard: the server that takes writes stays the current one | `choose`: `current` ignored
    #[test]
    fn the_server_that_is_written_to_stays_and_the_first_one_is_taken_otherwise() {
        let cluster = [writes(1), writes(1), refuses()];
        assert_eq!(choose(&cluster, Some(1)), Choice::Server(1));
        assert_eq!(choose(&cluster, Some(2)), Choice::Server(0));
        assert_eq!(choose(&[refuses(), writes(2)], Some(0)), Choice::Server(1));
        assert_eq!(choose(&[Answer::Failed("cut".into()), refuses()], Some(0)), Choice::NoServer);
    }

    #[test]
    fn two_servers_with_different_data_are_for_an_operator_to_judge() {
        assert_eq!(choose(&[writes(1), writes(2)], None), Choice::Disputed(vec![0, 1]));
        assert_eq!(choose(&[writes(1), writes(2)], Some(1)), Choice::Server(1), "work goes on where it is");
    }
}
