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

#[cfg(test)]
mod tests {
    use super::*;

    async fn alone(_: ()) {}
    async fn shared(_: ()) {}

    const CASES: &[Case<()>] = cases!["a_file" needs [Claims]: alone, shared needs [Sharing, Server]];

    #[test]
    fn a_case_needs_what_its_list_needs_and_what_it_says_itself() {
        let [alone, shared] = CASES else { panic!("two cases") };
        assert_eq!((alone.topic, alone.name), ("a_file", "alone"));
        assert_eq!(alone.lacks(&[Need::Claims]), None);
        assert_eq!(alone.lacks(&[Need::Sharing]), Some(Need::Claims));
        assert_eq!(shared.lacks(&[Need::Claims, Need::Server]), Some(Need::Sharing));
        assert_eq!(shared.lacks(&[Need::Server, Need::Sharing, Need::Claims]), None);
    }
}
