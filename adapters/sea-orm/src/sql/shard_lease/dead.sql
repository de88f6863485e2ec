-- Copies messages to the dead letters; lease_done follows in the same transaction.
INSERT INTO claimstream_dead
       (id, queue, shard, ordering_key, headers, content_type, payload, created_at, attempts, reason, died_at)
SELECT q.id, q.queue, q.shard, m.ordering_key, m.headers, COALESCE(m.content_type, 'application/octet-stream'),
       COALESCE(m.payload, ''), COALESCE(m.first_at, m.created_at, {now}), q.attempts + 1, :reason, {now}
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND q.available_at BETWEEN {moment :first}
                        AND {moment :last}
   AND q.id IN (:ids)
