-- Copies messages of one claim to the dead letters; settle_done follows in the same transaction.
INSERT INTO claimstream_dead
       (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at)
SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'),
       COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, {now}), q.attempts, :reason, {now}
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND q.available_at = {moment :lease_end}
   AND q.id IN (:ids)
   AND q.claim_id = :claim
