-- A page of dedup keys older than the sweep's bound whose messages have no body any more, oldest first.
SELECT d.queue, d.dedup_key,
       {micros d.created_at} AS created_at
  FROM claimstream_dedup d
  LEFT JOIN claimstream_message m ON m.id = d.message_id
 WHERE d.created_at >= {moment :from}
   AND d.created_at < {moment :bound}
   AND m.id IS NULL
 ORDER BY d.created_at
 LIMIT :limit
