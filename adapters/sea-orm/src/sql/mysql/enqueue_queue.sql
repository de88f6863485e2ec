-- Makes messages claimable: at a chosen moment, or after a delay that may be nothing; a delay beyond all time ends with it.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
VALUES (:queue, :shard,
        COALESCE(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :at MICROSECOND,
                 UTC_TIMESTAMP(6) + INTERVAL LEAST(:after, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND),
        :id)
