-- Gives dead letters their bodies back where they are gone; one that is there stays as it is.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
SELECT id, queue, shard, ordering_key, headers, content_type, payload, created_at
  FROM claimstream_dead
 WHERE id IN (:ids)
ON CONFLICT (id) DO NOTHING
