/// The heading of a scenario; its own name if it is not one of ours.
pub(super) fn title(scenario: &str) -> &str {
    match scenario {
        "drain" => "Draining a backlog",
        "backlog" => "Size of the backlog",
        "steady" => "Steady state",
        "retention" => "Retention under load",
        "highest_rate" => "Highest rate that is held",
        "snapshot" => "A snapshot open elsewhere",
        "near_empty" => "A queue that is nearly empty",
        "idle" => "Idle instances",
        "wakeup" => "A message enqueued in the process of an idle instance",
        "single" => "One message at a time",
        "network" => "Network between instances and server",
        "enqueue" => "Enqueueing alone",
        "memory" => "Memory",
        "notifications" => "Notifications",
        "order" => "Order by key",
        "payloads" => "Size of the messages",
        "queues" => "Many queues in one process",
        "statements" => "What the statements of a batch take",
        "kill" => "Owners of shards killed",
        "rebalance" => "Shards that change hands",
        other => other,
    }
}

/// What is measured in a scenario, and how.
pub(super) fn about(scenario: &str) -> &'static str {
    match scenario {
        "drain" => {
            "Everybody empties the same backlog. Ratios are against `ceilxr` with as many instances. Cores busy are those that \
             instances and server keep busy together: where it is nearly all that the machine has, only less work can be faster."
        }
        "backlog" => {
            "One instance. Of a million and more only the first seconds are measured; the largest backlog stands, and \
             what a round took is enqueued again before the next."
        }
        "steady" => {
            "Producers, two processes with up to eight transactions open each, send at a rate; latency counts from before \
             the transaction began until the handler was called. Statements, redo and the server's time are those of producers and consumers; \
             `producers alone` is the load without a consumer."
        }
        "retention" => {
            "The steady load twice: with `keep` finished messages leave their bodies behind, with `delete` the instances sweep \
             them away during their work. Bodies left are counted when the instances have stopped; what the sweep was behind by then is left to a \
             later one."
        }
        "highest_rate" => {
            "The rate is doubled until the backlog grows by 100 messages a second or more, the latency's p99 passes half a second, \
             or the producers do not keep up, and then closed in on; each rate is tried for ten seconds. Producers and server share the machine."
        }
        "snapshot" => {
            "A transaction elsewhere has a consistent snapshot of the database open all the time, or not."
        }
        "near_empty" => {
            "Two producers, 2,000 messages a second together, five a transaction. Consumers: none, idle on another \
             queue, or busy on this one, where they take each message at once and the processor from the producers."
        }
        "idle" => "Statements from the tenth to the thirtieth second of having nothing to do.",
        "wakeup" => {
            "After ten idle seconds messages are enqueued one by one in the instance's own process, which rings its \
             wakeup after each commit; latency counts from before the transaction began until the handler was called."
        }
        "single" => {
            "A claim asks for one message, and its acknowledgement is written before the next one comes."
        }
        "network" => "A proxy holds up every packet, by half the delay in each direction.",
        "enqueue" => {
            "Producers in one process, each a transaction after another. `library` writes queue and body; the others are \
             multi-row inserts by hand."
        }
        "notifications" => {
            "Relays, each a process with both pipelines and a provider that does nothing but name each delivery. Requests are submitted \
             before the clock starts, which stops with the last outcome that was noted. Statements are the server's `Questions`; all figures \
             are for each notification."
        }
        "order" => {
            "The same backlog without keys and under `per_key` with one key, 200 and 10,000, at the same time; stopped after 20 s. \
             Handlers do nothing."
        }
        "payloads" => "One instance; as many messages of each size as come to about 100 MB, 100,000 at most.",
        "queues" => "One instance empties the same number of messages in one queue, and in 50 at one time.",
        "memory" => {
            "A pipeline has all messages in hand for longer than a third of the lease, so that all are renewed, and then \
             acknowledges them."
        }
        "statements" => {
            "The statements of a batch one after another on a connection, in microseconds, without a library, a handler or other \
             load: taking (under `shard_lease` the lease row, under `skip_locked` the lock, the mark and the commit), reading with \
             bodies, ending. The rate alone is what a single connection without any work of a client's own would come to. `SELECT 1` \
             is a round trip. Deleted entries are purged later, which is not in it."
        }
        "kill" => {
            "Measured by the binary `ownership`: owners of shards are killed one after another under load; how many messages went wrong, and \
             in which way, is counted for each."
        }
        "rebalance" => {
            "Measured by the binary `ownership`: an instance comes, one goes, one dies in each round; milliseconds until \
             others serve its shards."
        }
        _ => "",
    }
}

/// The figures that are shown of a scenario, with their headings.
pub(super) fn figures(scenario: &str) -> &'static [(&'static str, &'static str)] {
    const CPU: (&str, &str) = ("client_cpu_ms_per_1000", "client CPU ms / 1,000");
    const SERVER_CPU: (&str, &str) = ("server_cpu_ms_per_1000", "server CPU ms / 1,000");
    const STATEMENTS: (&str, &str) = ("statements_per_message", "statements / message");
    const REDO: (&str, &str) = ("redo_bytes_per_message", "redo bytes / message");
    const P50: (&str, &str) = ("latency_p50_ms", "latency p50 ms");
    const P99: (&str, &str) = ("latency_p99_ms", "p99 ms");
    const INSERT_P50: (&str, &str) = ("insert_p50_ms", "insert p50 ms");
    const INSERT_P99: (&str, &str) = ("insert_p99_ms", "insert p99 ms");
    match scenario {
        "drain" | "backlog" | "snapshot" | "single" | "network" | "payloads" | "queues" => {
            &[("rate", "messages / s"), CPU, SERVER_CPU, ("cores_busy", "cores busy"), STATEMENTS, REDO]
        }
        "order" => &[("rate", "messages / s"), CPU, SERVER_CPU, ("cores_busy", "cores busy"), STATEMENTS],
        "notifications" => &[
            ("rate", "notifications / s"),
            STATEMENTS,
            CPU,
            SERVER_CPU,
            REDO,
            ("select_per_message", "selects"),
            ("insert_per_message", "inserts"),
            ("update_per_message", "updates"),
            ("delete_per_message", "deletes"),
            ("commit_per_message", "commits"),
            ("rollback_per_message", "rollbacks"),
        ],
        "steady" => &[
            ("enqueued_per_second", "enqueued / s"),
            ("growth_per_second", "backlog growth / s"),
            P50,
            P99,
            INSERT_P99,
            ("history_most", "longest history"),
            CPU,
            SERVER_CPU,
            STATEMENTS,
            REDO,
        ],
        "retention" => &[
            ("enqueued_per_second", "enqueued / s"),
            ("growth_per_second", "backlog growth / s"),
            P50,
            P99,
            INSERT_P50,
            INSERT_P99,
            ("history_most", "longest history"),
            ("bodies_left", "bodies left"),
            CPU,
            SERVER_CPU,
            REDO,
        ],
        "highest_rate" => &[("highest_rate", "messages / s"), P50, P99, ("history_most", "longest history")],
        "near_empty" => &[("enqueued_per_second", "enqueued / s"), INSERT_P50, INSERT_P99, P50, P99],
        "idle" => &[("statements_per_second_and_instance", "statements / s and instance")],
        "wakeup" => &[P50, P99, ("latency_max_ms", "longest ms")],
        "enqueue" => &[
            ("rate", "messages / s"),
            INSERT_P50,
            INSERT_P99,
            ("producer_cpu_ms_per_1000", "producer CPU ms / 1,000"),
            SERVER_CPU,
            REDO,
        ],
        "statements" => &[
            ("round_trip_us", "`SELECT 1`"),
            ("take_us", "take"),
            ("read_us", "read"),
            ("take_and_read_us", "take and read"),
            ("end_us", "end"),
            ("batch_us", "batch"),
            ("rate_alone", "rate alone"),
        ],
        "memory" => &[
            ("resident_held_mib", "resident MiB"),
            ("resident_before_mib", "before MiB"),
            ("bytes_per_message", "bytes / message"),
        ],
        _ => &[],
    }
}
