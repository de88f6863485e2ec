-- Extends a lock, counted from now, if its holder still has it.
UPDATE claimstream_lock
   SET held_until = {now} + {span :lease},
       token      = :token
 WHERE lock_key = :key
   AND fence = :fence
   AND held_until > {now}
   AND token <> :free
