-- Takes a lock that is free. The fence goes on from the holder's before, and from the time, so that it grows even if the
-- row has been swept meanwhile.
UPDATE claimstream_lock
   SET fence      = GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))),
       held_until = UTC_TIMESTAMP(6) + INTERVAL :lease MICROSECOND,
       token      = :token
 WHERE lock_key = :key
   AND held_until <= UTC_TIMESTAMP(6)
