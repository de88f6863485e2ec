-- Resumes a queue that is paused.
UPDATE claimstream_pause
   SET resumed_at = {now}, resumed_by = :by
 WHERE queue = :queue
   AND shard = 65535
   AND resumed_at IS NULL
