-- Pauses a queue that was never paused.
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, why)
VALUES (:queue, 65535, {now}, :by, :why)
