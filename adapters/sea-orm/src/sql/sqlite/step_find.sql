-- Reads a step without a lock.
SELECT state, version, fingerprint, result
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
   AND step = :step
