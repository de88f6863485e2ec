-- Brings the bodies of dead letters back where they are gone; stored anew, and known to be as old as they are.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at, first_at)
SELECT id, queue, shard, ordering_key, headers, content_type, payload, :now, created_at
  FROM claimstream_dead
 WHERE id IN (:ids)
ON CONFLICT (id) DO UPDATE SET first_at = COALESCE(first_at, created_at), created_at = :now
