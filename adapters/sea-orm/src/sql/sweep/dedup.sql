-- Forgets dedup keys.
DELETE FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key IN (:keys)
   AND created_at < {moment :bound}
