-- Gives dead letters their bodies back where they are gone; one that is there stays as it is, and is locked.
INSERT INTO claimstream_message (id, queue, shard, ordering_key, headers, content_type, payload, created_at)
SELECT d.id, d.queue, d.shard, d.ordering_key, d.headers, d.content_type, d.payload, d.created_at
  FROM claimstream_dead d
 WHERE d.id IN (:ids)
{or_keep claimstream_message.queue}
