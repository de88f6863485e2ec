-- Reserves dedup keys; a key that is taken stays with its message.
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
VALUES (:queue, :dedup_key, :id, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE message_id = message_id
