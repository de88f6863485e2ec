-- Takes the write lock, which is the lock of every step, and reads a step; its origin says which call wrote it last.
UPDATE claimstream_step
   SET version = version
 WHERE scope = :scope
   AND run = :run
   AND step = :step
RETURNING state, version, fingerprint, result, origin
