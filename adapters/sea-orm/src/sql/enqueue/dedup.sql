-- Reserves dedup keys; a key that is taken stays with its message.
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
VALUES (:queue, :dedup_key, :id, {now})
{or_keep message_id}
