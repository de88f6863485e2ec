use std::sync::Arc;

use claimstream_suite::fixture::{Command, Commands, Cost, Reader};

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    [&[body.len() as u8, 0, 0, number], body].concat()
}

#[test]
fn commands_are_read_from_pieces_and_statements_are_counted() {
    let commands: Arc<Commands> = Arc::default();
    let reader = Reader::new(Arc::clone(&commands));
    let sent =
        [packet(1, b"\x03a handshake"), packet(0, b"\x03BEGIN; SELECT 'a;b' ;"), packet(0, b"\x16SELECT ?")]
            .concat();
    sent.chunks(5).for_each(|piece| reader.sent(piece));
    reader.answered(&packet(1, &[0, 7, 0, 0, 0, 0]));
    reader.sent(&packet(0, &[0x17, 7, 0, 0, 0, 0]));
    reader.sent(&packet(0, &[0x0e]));
    let sent = commands.take();
    let [begin, select] = ["BEGIN; SELECT 'a;b' ;", "SELECT ?"].map(str::to_owned);
    assert_eq!(
        sent,
        [Command::Query(begin), Command::Prepare(select.clone()), Command::Execute(select), Command::Ping]
    );
    assert_eq!(Cost::of(&sent), Cost { statements: 3, round_trips: 3, prepared: 1, pings: 1 });
}

#[test]
fn waits_for_locks_are_counted_and_refusals_to_wait_are_not() {
    let commands: Arc<Commands> = Arc::default();
    let reader = Reader::new(commands.clone());
    for (text, timeouts) in [("SELECT 1 FOR UPDATE", 1), ("SELECT 1 FOR UPDATE NOWAIT", 1), ("DELETE", 2)] {
        reader.sent(&packet(0, format!("\x03{text}").as_bytes()));
        reader.answered(&packet(1, b"\xff\xb5\x04#HY000Lock wait timeout exceeded"));
        assert_eq!(commands.lock_timeouts(), timeouts, "{text}");
    }
}
