-- Forgets dedup keys that are locked.
DELETE FROM claimstream_dedup
 WHERE queue = :queue
   AND dedup_key IN (:keys)
