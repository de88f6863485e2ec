-- Reads what a claim has taken, bodies included unless they are heavy.
SELECT q.id, CAST(q.shard AS SIGNED) AS shard, CAST(q.attempts AS SIGNED) AS attempts,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.claimed_from)   AS claimed_from,
       q.last_error, m.ordering_key, m.headers, m.content_type,
       CASE WHEN OCTET_LENGTH(m.payload) <= :inline THEN m.payload END AS payload,
       CAST(OCTET_LENGTH(m.payload) AS SIGNED) AS bytes,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard IN (:shards)
   AND q.available_at = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :lease_end MICROSECOND
   AND q.claim_id = :claim
