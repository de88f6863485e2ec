-- Locks a step and reads it, or fails at once if another transaction has it.
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result, origin
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
   AND step = :step
   FOR UPDATE NOWAIT
