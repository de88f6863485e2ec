-- Pauses a queue that was never paused.
INSERT INTO claimstream_pause (queue, paused_at, paused_by, why)
VALUES (:queue, {now}, :by, :why)
