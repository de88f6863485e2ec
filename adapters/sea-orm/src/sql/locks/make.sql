-- Makes a lock that was not held yet, or not lately, and takes it.
INSERT INTO claimstream_lock (lock_key, fence, held_until, token)
VALUES (:key, {micros {now}}, {now} + {span :lease}, :token)
