-- Reads a step without a lock.
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
   AND step = :step
