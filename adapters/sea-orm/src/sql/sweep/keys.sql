-- A page of dedup keys that were made before the bound of the sweep, the oldest first, whose messages have no body and are no dead letters.
SELECT d.queue, d.dedup_key,
       {micros d.created_at} AS created_at
  FROM claimstream_dedup d
  LEFT JOIN claimstream_message m ON m.id = d.message_id
 WHERE d.created_at >= {moment :from}
   AND d.created_at < {moment :bound}
   AND m.id IS NULL
   AND NOT EXISTS (SELECT 1 FROM claimstream_dead x WHERE x.id = d.message_id)
 ORDER BY d.created_at
 LIMIT :limit
