-- Makes messages claimable: at a chosen moment, or after a delay that may be nothing.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
VALUES (:queue, :shard, COALESCE(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :at MICROSECOND, UTC_TIMESTAMP(6) + INTERVAL :after MICROSECOND), :id)
