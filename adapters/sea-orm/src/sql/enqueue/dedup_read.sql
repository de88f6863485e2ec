-- Which of these messages own the dedup keys they asked for.
SELECT message_id
  FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key IN (:keys)
