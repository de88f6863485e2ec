-- Brings the bodies of dead letters back where they are gone.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
SELECT id, queue, shard, ordering_key, headers, content_type, payload, :now
  FROM claimstream_dead
 WHERE id IN (:ids)
ON CONFLICT (id) DO UPDATE SET created_at = :now
