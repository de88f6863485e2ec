-- Makes messages claimable: at a chosen moment, or after a delay that may be nothing; a delay beyond all time ends with it.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
VALUES (:queue, :shard,
        COALESCE({moment :at},
                 {later :after}),
        :id)
