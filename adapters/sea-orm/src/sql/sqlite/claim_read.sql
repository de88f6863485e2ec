-- Reads what a claim has taken, bodies included.
SELECT q.id, q.shard, q.attempts, q.claimed_from,
       q.last_error, m.ordering_key, m.headers, m.content_type, m.payload
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard IN (:shards)
   AND q.available_at = :lease_end
   AND q.claim_id = :claim
