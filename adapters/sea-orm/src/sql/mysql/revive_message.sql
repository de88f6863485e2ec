-- Brings the bodies of dead letters back where they are gone.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
SELECT id, queue, shard, ordering_key, headers, content_type, payload, UTC_TIMESTAMP(6)
  FROM claimstream_dead
 WHERE id IN (:ids)
ON DUPLICATE KEY UPDATE created_at = UTC_TIMESTAMP(6)
