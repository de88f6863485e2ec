use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::database::{nodes::known::Nodes, topology::place::Place};

/// Two servers, of which the first is written to.
fn servers() -> (Nodes, Moves) {
    let nodes = Nodes::of_url("mysql://me@first,second/shop").unwrap().unwrap();
    let moves = nodes.moves();
    (nodes, moves)
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

/// A search after this answer of the first server; both answer by the time since its begin, and silence ends with patience.
fn search<'a>(
    (nodes, moves): &'a (Nodes, Moves),
    said: Answer,
    answers: impl Fn(&str, Duration) -> Option<Answer> + Send + Sync + 'static,
) -> Search<'a> {
    let (began, answers) = (Instant::now(), Arc::new(answers));
    let ask: Ask = Arc::new(move |options: MySqlConnectOptions, patience| {
        let answers = Arc::clone(&answers);
        Box::pin(async move {
            let answered = async {
                loop {
                    match answers(options.get_host(), began.elapsed()) {
                        Some(answer) => return answer,
                        None => tokio::time::sleep(Duration::from_millis(10)).await,
                    }
                }
            };
            tokio::time::timeout(patience, answered).await.unwrap_or_else(|_| missed())
        })
    });
    Search { ask, ..Search::after(nodes.all(), moves, 0, said) }
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
            assert_eq!(search.found().await, 0, "slow for {slow_for:?}, beside a server with data {id}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_is_left_after_its_second_question() {
    let nodes = servers();
    let mut search = search(&nodes, missed(), |host, _| (host == "second").then(|| writes("2")));
    let began = Instant::now();
    assert_eq!(search.found().await, 1);
    assert!(began.elapsed() < PATIENCE * 3 / 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_begins_to_take_writes_after_a_while_is_found_within_a_second() {
    for since in [1, 5, 60].map(Duration::from_secs) {
        let nodes = servers();
        let mut search = search(&nodes, refuses(), move |host, at| {
            Some(if host == "second" && at >= since { writes("2") } else { refuses() })
        });
        let began = Instant::now();
        assert_eq!(search.found().await, 1);
        assert!(began.elapsed() < since + Duration::from_secs(1), "{:?} after {since:?}", began.elapsed());
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
    assert!(tokio::time::timeout(Duration::from_secs(60), search.found()).await.is_err());
    let asked = asked.load(Ordering::Relaxed);
    assert!((200..2 * 4 * 60 + 10).contains(&asked), "{asked} questions to two servers in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_slowly_is_found_at_the_start_and_not_left_afterwards() {
    for takes in [1_200, 3_000, 8_000].map(Duration::from_millis) {
        let slow: Ask = Arc::new(move |_, patience| {
            let answered = async move {
                tokio::time::sleep(takes).await;
                writes("1")
            };
            Box::pin(
                async move { tokio::time::timeout(patience, answered).await.unwrap_or_else(|_| missed()) },
            )
        });
        let (nodes, moves) = servers();
        let at_start = Search::at_start(nodes.all(), &moves);
        let in_a_failover = Search::after(nodes.all(), &moves, 0, missed());
        for search in [at_start, in_a_failover] {
            let mut search = Search { ask: Arc::clone(&slow), ..search };
            let found = tokio::time::timeout(takes * 3, search.found()).await;
            assert_eq!(found, Ok(0), "{takes:?}: {}", search.says(takes));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_that_is_given_up_keeps_no_connection_away() {
    let nodes = servers();
    let mut search = search(&nodes, refuses(), |_, _| Some(refuses()));
    assert!(tokio::time::timeout(Duration::from_secs(1), search.found()).await.is_err());
    assert!(nodes.1.is_looking());
    drop(search);
    assert!(!nodes.1.is_looking());
}

#[tokio::test(start_paused = true)]
async fn what_two_servers_that_both_take_writes_are_for_an_operator_to_do_is_said() {
    let nodes = servers();
    let mut search = search(&nodes, refuses(), |host, _| Some(writes(host)));
    search.current = None;
    assert!(tokio::time::timeout(Duration::from_secs(5), search.found()).await.is_err(), "none is chosen");
    let why = search.says(Duration::from_secs(5));
    assert!(why.starts_with("first:3306, second:3306 take writes and do not have the same data"), "{why}");
    assert!(why.contains("SET GLOBAL read_only = ON") && !why.contains("no server takes writes"), "{why}");
}
