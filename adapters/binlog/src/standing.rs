use std::collections::BTreeSet;

use crate::trouble::Trouble;

/// What the log of the process has said of the reading: each change is said once, whatever happens until the next one.
#[derive(Default)]
pub(crate) struct Standing {
    has_read: bool,
    /// The troubles that were said since relays were last woken, empty while they are.
    said: BTreeSet<String>,
    /// One of these was a refusal, which does not come and go.
    is_refused: bool,
}

/// A line for the log of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// The first one, or the first after a refusal.
    Wakes,
    /// After trouble that has passed.
    WakesAgain,
    /// Relays are not woken, or not by everything.
    Deaf,
}

impl Standing {
    /// The server sends events.
    pub(crate) fn opened(&mut self) -> Option<Line> {
        let line = (!self.has_read || self.is_refused).then_some(Line::Wakes);
        if line.is_some() {
            *self = Self { has_read: true, ..Self::default() };
        }
        line
    }

    /// The server has sent events for a while: a connection that ends at once, again and again, says nothing here.
    pub(crate) fn lasted(&mut self) -> Option<Line> {
        let line = (!self.said.is_empty()).then_some(Line::WakesAgain);
        self.said.clear();
        line
    }

    /// The reading has ended.
    pub(crate) fn ended(&mut self, trouble: &Trouble) -> Option<Line> {
        let kind = match trouble {
            Trouble::Refused(why) => why,
            Trouble::Lost(_) => "lost",
            Trouble::Unreadable(_) => "unreadable",
            Trouble::Passing(_) => "passing",
        };
        self.is_refused |= matches!(trouble, Trouble::Refused(_));
        self.said.insert(kind.to_owned()).then_some(Line::Deaf)
    }
}

#[cfg(test)]
mod tests {
    //! Promise: the process logs once that the binary log is not read, and once that it is again
    use super::*;

    fn passing() -> Trouble {
        Trouble::Passing("the server is silent".into())
    }

    #[test]
    fn a_loss_and_its_end_are_said_once_each() {
        let mut standing = Standing::default();
        assert_eq!((standing.opened(), standing.lasted()), (Some(Line::Wakes), None));
        assert_eq!((standing.ended(&passing()), standing.ended(&passing())), (Some(Line::Deaf), None));
        assert_eq!((standing.opened(), standing.lasted()), (None, Some(Line::WakesAgain)));
        assert_eq!((standing.opened(), standing.lasted()), (None, None));
        assert_eq!(standing.ended(&passing()), Some(Line::Deaf));
    }

    #[test]
    fn connections_that_end_each_other_fill_no_log() {
        let mut standing = Standing::default();
        standing.opened();
        let lines: usize =
            (0..100).map(|_| standing.ended(&passing()).iter().chain(&standing.opened()).count()).sum();
        assert_eq!(lines, 1);
    }

    #[test]
    fn each_kind_of_trouble_is_said_and_after_a_refusal_the_first_connection() {
        let mut standing = Standing::default();
        let refused = |why: &str| Trouble::Refused(why.to_owned());
        assert_eq!(standing.ended(&refused("no right")), Some(Line::Deaf));
        assert_eq!(standing.ended(&refused("no right")), None);
        assert_eq!(standing.ended(&refused("no log")), Some(Line::Deaf));
        assert_eq!(standing.opened(), Some(Line::Wakes));
        assert_eq!(standing.ended(&passing()), Some(Line::Deaf));
        assert_eq!(standing.ended(&Trouble::Unreadable("an event".into())), Some(Line::Deaf));
        assert_eq!(standing.ended(&Trouble::Unreadable("an event".into())), None);
    }
}
