-- Locks a step, waiting for a transaction that has it, and reads it as it stands now; its origin says which call wrote it last.
SELECT CAST(state AS SIGNED) AS state, CAST(version AS SIGNED) AS version, fingerprint, result, origin
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
   AND step = :step
   FOR UPDATE
