-- Locks dedup keys in the order in which an enqueue does.
SELECT dedup_key, message_id
  FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key IN (:keys)
   AND created_at < {moment :bound}
 ORDER BY dedup_key
   FOR UPDATE
