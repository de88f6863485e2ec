-- Which message has taken a dedup key of a queue, and how long ago.
SELECT message_id, {since created_at} AS taken
  FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key = :dedup_key
