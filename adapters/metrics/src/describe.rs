use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Upper ends of the buckets that suit every histogram of this crate, in seconds: from a claim that takes half a millisecond to a
/// handler that takes minutes.
pub const SECONDS_BUCKETS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0];

/// Gives the installed recorder the unit and the meaning of each metric.
pub fn describe() {
    for (name, text) in [
        (
            "claimstream_enqueued_total",
            "Messages enqueued, those of transactions that were rolled back included",
        ),
        ("claimstream_claimed_total", "Messages claimed"),
        ("claimstream_settled_total", "Messages settled, by outcome"),
        ("claimstream_renewed_total", "Leases extended"),
        ("claimstream_leases_lost_total", "Leases lost while a handler had the message"),
        ("claimstream_store_errors_total", "Calls of relays to the store that failed; relays repeat them"),
        ("claimstream_restarts_total", "Transactions restarted after a deadlock or a lock wait"),
        ("claimstream_swept_rows_total", "Rows removed by sweeps"),
        ("claimstream_http_requests_total", "Requests over HTTP that were answered, by route and status"),
    ] {
        describe_counter!(name, Unit::Count, text);
    }
    for (name, text) in [
        ("claimstream_claim_seconds", "How long claims took, empty ones included"),
        ("claimstream_wait_seconds", "How long messages had been due when they were claimed"),
        ("claimstream_handle_seconds", "How long handlers took for a message"),
        ("claimstream_settle_seconds", "How long settlement calls took"),
        ("claimstream_renew_seconds", "How long renewals took"),
        ("claimstream_connection_wait_seconds", "How long calls waited for a connection of a pool"),
        (
            "claimstream_http_request_seconds",
            "How long requests over HTTP took until the head of their answer",
        ),
    ] {
        describe_histogram!(name, Unit::Seconds, text);
    }
    describe_gauge!("claimstream_queue_messages", Unit::Count, "Messages of a queue, by state");
    describe_gauge!(
        "claimstream_pipeline_working",
        Unit::Count,
        "1 while a pipeline of this process works, 0 if it has ended, fails or stands still"
    );
    describe_gauge!("claimstream_queue_paused", Unit::Count, "1 while a queue is paused, 0 after");
    describe_gauge!(
        "claimstream_queue_oldest_seconds",
        Unit::Seconds,
        "For how long the oldest due message has been due; 0 if none is"
    );
}
