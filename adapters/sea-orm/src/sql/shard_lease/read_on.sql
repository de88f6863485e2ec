-- Reads on behind messages that wait for their key: due messages of other keys than these, or of none, without their bodies.
SELECT q.id, {micros q.available_at} AS due_at,
       {signed q.attempts} AS attempts, q.last_error,
       (q.claimed_from IS NOT NULL) AS suspect,
       {micros q.parked_until} AS parked_until,
       m.ordering_key, NULL AS headers, m.content_type, NULL AS payload, NULL AS fence, NULL AS now, NULL AS bytes
  FROM claimstream_queue q
  LEFT JOIN claimstream_message m ON m.id = q.id
 WHERE q.queue = :queue
   AND q.shard = :shard
   AND q.available_at <= {now}
   AND q.available_at >= {moment :low}
   {and_whole q}
   AND (q.available_at > {moment :low} OR q.id > :last)
   AND (m.ordering_key IS NULL OR m.ordering_key NOT IN (:keys))
 ORDER BY q.available_at, q.id
 LIMIT :limit
