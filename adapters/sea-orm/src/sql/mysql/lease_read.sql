-- Reads the next due messages of a shard whose lease is free or ours, bodies included unless they are heavy, and its fence;
-- takes no lock. Of a shard in other hands it reads nothing.
SELECT q.id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at,
       CAST(q.attempts AS SIGNED) AS attempts, q.last_error,
       (q.claimed_from IS NOT NULL) AS suspect,
       COALESCE(q.parked_until > UTC_TIMESTAMP(6), 0) AS parked,
       m.ordering_key, m.headers, m.content_type,
       CASE WHEN OCTET_LENGTH(m.payload) <= :inline THEN m.payload END AS payload,
       CAST(l.fence AS SIGNED) AS fence,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS now,
       CAST(OCTET_LENGTH(m.payload) AS SIGNED) AS bytes,
       (l.holder IS NULL) AS is_free
  FROM claimstream_lease l
  JOIN claimstream_queue q ON q.queue = :queue AND q.shard = :shard
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE l.queue = :queue
   AND l.shard = :shard
   AND (l.holder IS NULL OR l.holder = :holder)
   AND q.available_at <= UTC_TIMESTAMP(6)
   AND q.available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND
 ORDER BY q.available_at, q.id
 LIMIT :limit
