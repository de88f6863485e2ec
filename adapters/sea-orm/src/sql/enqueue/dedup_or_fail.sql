-- Remembers deduplication keys; a key that is known fails the statement.
INSERT INTO claimstream_dedup (queue, dedup_key, message_id, created_at)
VALUES (:queue, :dedup_key, :id, {now})
