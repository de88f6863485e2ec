-- Takes a lock that has lapsed or was given back, wherever the clock has gone since. The fence goes on from the holder's before, and from the time, so that it grows even if the
-- row has been swept meanwhile.
UPDATE claimstream_lock
   SET fence      = {greatest}(fence + 1, {micros {now}}),
       held_until = {now} + {span :lease},
       token      = :token
 WHERE lock_key = :key
   AND (held_until <= {now} OR token = :free)
