-- The youngest messages of a shard that are older than a place, with their ordering keys.
SELECT q.id, {micros q.available_at} AS due_at, m.ordering_key,
       (q.claim_id IS NOT NULL AND q.available_at > {now}) AS is_claimed
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND q.available_at <= {moment :below}
   AND (q.available_at < {moment :below} OR q.id < :id)
   AND NOT {unreadable q}
 ORDER BY q.available_at DESC, q.id DESC
 LIMIT :limit
