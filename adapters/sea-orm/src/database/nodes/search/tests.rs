//! Promise: all callers that wait share one search for a server, which asks ever more rarely; a slow server
//! is found, and an abandoned search blocks no connection

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::database::{nodes::known::Nodes, topology::place::Place};

/// Two servers, of which the first is written to. Time is tokio's, which passes only while all tasks wait for it.
fn servers() -> Nodes {
    Nodes::of_url("mysql://me@first,second/shop", &StoreTimer::default()).unwrap().unwrap()
}

fn writes(id: &str) -> Answer {
    let settings = [("server_id".to_owned(), id.to_owned())].into();
    Answer::Says(Place { settings, ..Place::default() }.role())
}

fn refuses() -> Answer {
    Answer::Says(Role::Refuses("read_only = ON".into()))
}

fn missed() -> Answer {
    Answer::Failed("no answer".into())
}

/// A search after this answer of the first server; both answer by the time since its begin, and silence ends with the timeout.
fn search<'a>(
    nodes: &'a Nodes,
    said: Answer,
    answers: impl Fn(&str, Duration) -> Option<Answer> + Send + Sync + 'static,
) -> Search<'a> {
    let (since, answers) = (nodes.timer().stopwatch(), Arc::new(answers));
    let timer = nodes.timer().clone();
    let ask: Ask = Arc::new(move |options: MySqlConnectOptions, timeout| {
        let (answers, since, timer) = (Arc::clone(&answers), since.clone(), timer.clone());
        Box::pin(async move {
            let answered = async {
                loop {
                    match answers(options.get_host(), since.elapsed()) {
                        Some(answer) => return answer,
                        None => timer.sleep(Duration::from_millis(10)).await,
                    }
                }
            };
            timer.timeout(timeout, answered).await.unwrap_or_else(missed)
        })
    });
    Search { ask, ..Search::after(nodes.all(), &nodes.moves(), nodes.timer(), 0, said) }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_slow_for_a_moment_is_not_left_for_another_that_takes_writes() {
    for slow_for in [0, 300, 700, 950].map(Duration::from_millis) {
        for id in ["1", "2"] {
            let nodes = servers();
            let mut search = search(&nodes, missed(), move |host, at| match host {
                "first" => (at >= slow_for).then(|| writes("1")),
                _ => Some(writes(id)),
            });
            assert_eq!(search.found().await, 0, "slow for {slow_for:?}, with another server with data {id}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_is_left_after_its_second_question() {
    let nodes = servers();
    let mut search = search(&nodes, missed(), |host, _| (host == "second").then(|| writes("2")));
    let searched = nodes.timer().stopwatch();
    assert_eq!(search.found().await, 1);
    let took = searched.elapsed();
    assert!(took < TIMEOUT * 3 / 2, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_begins_to_take_writes_after_a_while_is_found_within_a_second() {
    for since in [1, 5, 60].map(Duration::from_secs) {
        let nodes = servers();
        let mut search = search(&nodes, refuses(), move |host, at| {
            Some(if host == "second" && at >= since { writes("2") } else { refuses() })
        });
        let searched = nodes.timer().stopwatch();
        assert_eq!(search.found().await, 1);
        let took = searched.elapsed();
        assert!(took < since + Duration::from_secs(1), "{took:?} after {since:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn while_no_server_takes_writes_each_is_asked_four_times_a_second_at_most() {
    let (servers, asked) = (servers(), Arc::new(AtomicU32::default()));
    let counted = Arc::clone(&asked);
    let mut search = search(&servers, refuses(), move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(refuses())
    });
    assert_eq!(servers.timer().timeout(Duration::from_secs(60), search.found()).await, None);
    let asked = asked.load(Ordering::Relaxed);
    assert!((200..2 * 4 * 60 + 10).contains(&asked), "{asked} questions to two servers in a minute");
}

/// Guard: a slow server is asked with a longer limit | src/database/nodes/ask.rs: never
#[tokio::test(start_paused = true)]
async fn a_server_that_answers_slowly_is_found_at_the_start_and_not_left_afterwards() {
    for takes in [1_200, 3_000, 8_000].map(Duration::from_millis) {
        let (nodes, timer) = (servers(), StoreTimer::default());
        let slow: Ask = Arc::new(move |_, timeout| {
            let timer = timer.clone();
            Box::pin(async move {
                let answered = async {
                    timer.sleep(takes).await;
                    writes("1")
                };
                timer.timeout(timeout, answered).await.unwrap_or_else(missed)
            })
        });
        let at_start = Search::at_start(nodes.all(), &nodes.moves(), nodes.timer());
        let in_a_failover = Search::after(nodes.all(), &nodes.moves(), nodes.timer(), 0, missed());
        for search in [at_start, in_a_failover] {
            let mut search = Search { ask: Arc::clone(&slow), ..search };
            let found = nodes.timer().timeout(takes * 3, search.found()).await;
            assert_eq!(found, Some(0), "{takes:?}: {}", search.says(takes));
        }
    }
}

/// Guard: a search that is dropped does not block connections | src/database/moves.rs `Looking::drop`: does
/// nothing
#[tokio::test(start_paused = true)]
async fn a_search_that_is_given_up_keeps_no_connection_away() {
    let nodes = servers();
    let mut search = search(&nodes, refuses(), |_, _| Some(refuses()));
    assert_eq!(nodes.timer().timeout(Duration::from_secs(1), search.found()).await, None);
    assert!(nodes.moves().is_looking());
    drop(search);
    assert!(!nodes.moves().is_looking());
}

#[tokio::test(start_paused = true)]
async fn what_two_servers_that_both_take_writes_are_for_an_operator_to_do_is_said() {
    let nodes = servers();
    let mut search = search(&nodes, refuses(), |host, _| Some(writes(host)));
    search.current = None;
    let found = nodes.timer().timeout(Duration::from_secs(5), search.found()).await;
    assert_eq!(found, None, "none is chosen");
    let why = search.says(Duration::from_secs(5));
    assert!(why.starts_with("first:3306, second:3306 take writes and do not have the same data"), "{why}");
    assert!(why.contains("SET GLOBAL read_only = ON") && !why.contains("no server takes writes"), "{why}");
}
