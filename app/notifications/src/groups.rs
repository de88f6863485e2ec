use std::{collections::VecDeque, future::poll_fn, task::Poll};

use futures::{StreamExt, stream::FuturesUnordered};

/// How much of what works come to is written together, while others run at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    /// The most rows that a group has, unless the rows of one work alone are more.
    pub(super) rows: usize,
}

impl Groups {
    /// Runs works and writes what they come to, one group at a time: all that have ended while the group before was written.
    /// So a slow work delays only itself, and quick ones share their writes.
    ///
    /// A work that comes to `None` has nothing to write; `rows` says how many rows a result takes.
    pub(super) async fn run<T, W, F>(
        self,
        works: impl IntoIterator<Item = W>,
        rows: impl Fn(&T) -> usize,
        write: impl Fn(Vec<T>) -> F,
    ) where
        W: Future<Output = Option<T>>,
        F: Future<Output = ()>,
    {
        let mut running: FuturesUnordered<_> = works.into_iter().collect();
        let (mut ended, mut writing) = (FinishedWork(VecDeque::new()), None);
        poll_fn(|cx| {
            loop {
                while let Poll::Ready(Some(result)) = running.poll_next_unpin(cx) {
                    ended.0.extend(result);
                }
                let Some(write_on) = &mut writing else {
                    match ended.take(self.rows, &rows) {
                        group if !group.is_empty() => writing = Some(Box::pin(write(group))),
                        _ if running.is_empty() => return Poll::Ready(()),
                        _ => return Poll::Pending,
                    }
                    continue;
                };
                std::task::ready!(Future::poll(write_on.as_mut(), cx));
                writing = None;
            }
        })
        .await;
    }
}

/// What works have come to and no task has begun to write.
struct FinishedWork<T>(VecDeque<T>);

impl<T> FinishedWork<T> {
    /// The first results that together have no more than `most` rows, but one at least.
    fn take(&mut self, most: usize, rows: impl Fn(&T) -> usize) -> Vec<T> {
        let (mut group, mut taken) = (Vec::new(), 0);
        while let Some(result) =
            self.0.pop_front_if(|result| group.is_empty() || taken + rows(result) <= most)
        {
            taken += rows(&result);
            group.push(result);
        }
        group
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, pin::pin};

    use futures::channel::oneshot;

    use super::*;
    use crate::tests::{finish, step};

    #[test]
    fn what_ends_while_a_group_is_written_is_the_next_group_and_a_slow_work_delays_only_itself() {
        let groups = RefCell::new(Vec::new());
        let (mut ends, works): (Vec<_>, Vec<_>) = (0..4)
            .map(|n| {
                let (end, ended) = oneshot::channel::<()>();
                (Some(end), async move { ended.await.ok().map(|()| n) })
            })
            .unzip();
        let (written, waits) = (RefCell::new(Vec::new()), RefCell::new(VecDeque::new()));
        for _ in 0..3 {
            let (go, gone) = oneshot::channel::<()>();
            written.borrow_mut().push(go);
            waits.borrow_mut().push_back(gone);
        }
        let write = |group: Vec<usize>| {
            groups.borrow_mut().push(group);
            let wait = waits.borrow_mut().pop_front();
            async move {
                let _ = wait.expect("three groups at most").await;
            }
        };
        let mut run = pin!(Groups { rows: 9 }.run(works, |_| 1, write));
        let mut go_on = || step(run.as_mut());
        assert_eq!(go_on(), None);
        let mut end = |n: usize| ends[n].take().expect("it runs").send(()).expect("it is waited for");
        end(1);
        assert_eq!(go_on(), None);
        assert_eq!(*groups.borrow(), [vec![1]]);
        end(0);
        end(3);
        assert_eq!(go_on(), None);
        assert_eq!(groups.borrow().len(), 1, "one group is written at a time");
        let is_written = || written.borrow_mut().remove(0).send(()).expect("it is written");
        is_written();
        assert_eq!(go_on(), None);
        assert_eq!(groups.borrow()[1].len(), 2);
        is_written();
        assert_eq!(go_on(), None);
        end(2);
        is_written();
        assert_eq!(go_on(), Some(()));
        assert_eq!(groups.borrow()[2], [2]);
    }

    #[test]
    fn groups_have_no_more_rows_than_they_may_unless_one_work_has_more_alone() {
        let groups = RefCell::new(Vec::new());
        let works = [2, 2, 1, 9, 1, 0].map(|rows| async move { (rows > 0).then_some(rows) });
        let write = |group: Vec<usize>| {
            groups.borrow_mut().push(group);
            std::future::ready(())
        };
        finish(Groups { rows: 4 }.run(works, |rows| *rows, write));
        let mut all = groups.borrow().concat();
        all.sort_unstable();
        assert_eq!(all, [1, 1, 2, 2, 9]);
        assert!(groups.borrow().iter().all(|group| group.len() == 1 || group.iter().sum::<usize>() <= 4));
    }
}
