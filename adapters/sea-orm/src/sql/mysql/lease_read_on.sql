-- Reads on behind messages that wait for their key: due messages of other keys than these, or of none, without their bodies.
SELECT q.id, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', q.available_at) AS due_at,
       CAST(q.attempts AS SIGNED) AS attempts, q.last_error,
       (q.claimed_from IS NOT NULL) AS suspect,
       COALESCE(q.parked_until > UTC_TIMESTAMP(6), 0) AS parked,
       m.ordering_key, NULL AS headers, m.content_type, NULL AS payload, NULL AS fence, NULL AS now, NULL AS bytes
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND q.available_at <= UTC_TIMESTAMP(6)
   AND q.available_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND
   AND (q.available_at > TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :low MICROSECOND OR q.id > :last)
   AND (m.ordering_key IS NULL OR m.ordering_key NOT IN (:keys))
 ORDER BY q.available_at, q.id
 LIMIT :limit
