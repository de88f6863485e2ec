-- Brings the bodies of dead letters back where they are gone; stored anew, and known to be as old as they are.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at, first_at)
SELECT d.id, d.queue, d.shard, d.ordering_key, d.headers, d.content_type, d.payload, UTC_TIMESTAMP(6), d.created_at
  FROM claimstream_dead d
 WHERE d.id IN (:ids)
ON DUPLICATE KEY UPDATE first_at = COALESCE(claimstream_message.first_at, claimstream_message.created_at),
                        created_at = UTC_TIMESTAMP(6)
