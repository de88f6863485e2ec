-- Pauses a queue that was paused before and resumed.
UPDATE claimstream_pause
   SET paused_at = {now}, paused_by = :by, why = :why, resumed_at = NULL, resumed_by = NULL
 WHERE queue = :queue
   AND shard = 65535
   AND resumed_at IS NOT NULL
