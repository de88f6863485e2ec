-- Makes messages claimable: at a chosen moment, or after a delay that may be nothing.
INSERT INTO claimstream_queue (queue, shard, available_at, id)
VALUES (:queue, :shard, COALESCE(:at, :now + :after), :id)
