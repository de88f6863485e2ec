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
/// `cases!["claim" needs [Claims]: a_sentence, another_one needs [Sharing]]`.
#[macro_export]
macro_rules! cases {
    ($topic:literal needs $needs:tt: $($name:ident $(needs $more:tt)?),+ $(,)?) => {
        &[$($crate::Case {
            topic: $topic,
            name: stringify!($name),
            needs: &[$crate::needs!($needs) $(, $crate::needs!($more))?],
            run: |fixture| Box::pin($name(fixture)),
        }),+]
    };
}
#[doc(hidden)]
#[macro_export]
macro_rules! needs {
    ([$($need:ident),*]) => { &[$($crate::Need::$need),*] };
}
