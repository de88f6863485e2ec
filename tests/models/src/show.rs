use crate::{Protocol, explore, refute};

/// Explores a protocol, prints how far that went, and panics unless every promise is kept in at least `floor` states.
pub fn show_that_it_keeps_every_promise<P: Protocol>(title: &str, protocol: &P, floor: usize) {
    let found = explore(protocol);
    println!("{title}: {found}");
    assert!(found.broken.is_empty(), "{title} breaks a promise: {found}");
    assert!(found.states >= floor, "{title} has {} states, too few to mean anything", found.states);
}

/// Refutes a promise, prints the counter-example and answers its steps; panics if the promise is kept.
pub fn show_that_it_breaks<P: Protocol>(title: &str, protocol: &P, promise: &str) -> Vec<String> {
    let found = refute(protocol, promise);
    println!("{title}: {found}");
    found.course(promise).map(<[String]>::to_vec).unwrap_or_default()
}
