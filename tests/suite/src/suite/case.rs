use futures::future::BoxFuture;

use super::need::Need;

/// A clause or a scenario: what the suite runs on every backend that has what it needs.
pub struct Case<F: 'static> {
    /// The file it stands in.
    pub topic: &'static str,
    /// The sentence.
    pub name: &'static str,
    /// What a backend must have, the needs of its list and its own.
    pub needs: &'static [&'static [Need]],
    /// It counts waits for locks, so that a server is reached over a wire.
    pub is_wired: bool,
    /// Runs it.
    pub run: fn(F) -> BoxFuture<'static, ()>,
}

impl<F> Case<F> {
    /// The first of its needs that is not among these.
    pub fn lacks(&self, has: &[Need]) -> Option<Need> {
        self.needs.iter().copied().flatten().copied().find(|need| !has.contains(need))
    }
}

/// The cases of a file, with what all of them need and what one needs besides:
/// `cases!["claim" needs [Claims]: a_sentence, another_one needs [Sharing], one_that_counts over wire]`.
#[macro_export]
macro_rules! cases {
    ($topic:literal needs $needs:tt: $($name:ident $(needs $more:tt)? $(over $wire:tt)?),+ $(,)?) => {
        &[$($crate::Case {
            topic: $topic,
            name: stringify!($name),
            needs: &[$crate::needs!($needs) $(, $crate::needs!($more))?],
            is_wired: $crate::is_wired!($($wire)?),
            run: |fixture| Box::pin($name(fixture)),
        }),+]
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! needs {
    ([$($need:ident),*]) => { &[$($crate::Need::$need),*] };
}

#[doc(hidden)]
#[macro_export]
macro_rules! is_wired {
    () => {
        false
    };
    (wire) => {
        true
    };
}
