-- Writes the leases of several shards, each as shard_lease/write writes one: only if its own fence is still the one we know.
-- They are named by OR, of which every server makes ranges along the index that is named, however small the table is.
UPDATE claimstream_lease FORCE INDEX (PRIMARY)
   SET holder     = CASE shard /*each*/ WHEN :shard THEN :new_holder /*end*/ ELSE holder END,
       label      = CASE shard /*each*/ WHEN :shard THEN :label /*end*/ ELSE label END,
       fence      = CASE shard /*each*/ WHEN :shard THEN :new_fence /*end*/ ELSE fence END,
       held_until = {moment CASE shard /*each*/ WHEN :shard THEN :until /*end*/ ELSE 0 END},
       in_flight  = CASE shard /*each*/ WHEN :shard THEN :in_flight /*end*/ ELSE in_flight END,
       flights    = CASE shard /*each*/ WHEN :shard THEN :flights /*end*/ ELSE flights END,
       token      = :token
 WHERE queue = :queue
   AND (1 = 0 /*each*/ OR (shard = :shard AND fence = :fence AND (holder = :holder OR :new_fence > :fence)) /*end*/)
   AND (holder = :holder OR holder IS NULL OR (in_flight = 0 AND held_until <= {now}))
