use futures::future::BoxFuture;

use super::bank::Bank;

/// A clause that is run on some databases.
pub(super) type Case<D> = fn(Bank<D>) -> BoxFuture<'static, ()>;

/// The cases of a file: `cases![a_sentence, another_one]`.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|bank| Box::pin($name(bank))) as Case<D>)),*]
    };
}
pub(super) use cases;
