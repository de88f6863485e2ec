-- Makes a lock that nobody has held yet, or not lately, and takes it.
INSERT INTO claimstream_lock (lock_key, fence, held_until, token)
VALUES (:key, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6)), UTC_TIMESTAMP(6) + INTERVAL :lease MICROSECOND, :token)
