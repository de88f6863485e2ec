-- Reads what a claim has taken, bodies included unless they are heavy.
SELECT q.id, q.shard, q.attempts, q.claimed_from,
       q.last_error, m.ordering_key, m.headers, m.content_type,
       CASE WHEN LENGTH(m.payload) <= :inline THEN m.payload END AS payload, LENGTH(m.payload) AS bytes
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard IN (:shards)
   AND q.available_at = :lease_end
   AND q.claim_id = :claim
