-- Takes, extends, or gives up the lease of a shard and notes what is in flight, if the fence is still the one we know. A shard
-- that is free, or was kept with nothing in flight until its time was over, is taken under a new fence only: another process
-- may have read it under this one.
UPDATE claimstream_lease
   SET holder     = :new_holder,
       label      = :label,
       fence      = :new_fence,
       held_until = {moment :until},
       in_flight  = :in_flight,
       flights    = :flights,
       token      = :token
 WHERE queue = :queue
   AND shard = :shard
   AND fence = :fence
   AND (holder = :holder
     OR ((holder IS NULL OR (in_flight = 0 AND held_until <= {now})) AND :new_fence > fence))
