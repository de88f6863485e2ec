-- Forgets dedup keys.
DELETE FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key IN (:keys)
   AND created_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
