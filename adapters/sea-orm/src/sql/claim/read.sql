-- Reads what a claim has taken, bodies included unless they are heavy.
SELECT q.id, {signed q.shard} AS shard, {signed q.attempts} AS attempts,
       {micros q.claimed_from}   AS claimed_from,
       q.last_error, m.ordering_key, m.headers, m.content_type,
       CASE WHEN {octets m.payload} <= :inline THEN m.payload END AS payload,
       {signed {octets m.payload}} AS bytes,
       {micros {now}} AS now
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard IN (:shards)
   AND q.available_at = {moment :lease_end}
   AND q.claim_id = :claim
