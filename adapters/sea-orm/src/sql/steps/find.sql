-- Reads a step without a lock.
SELECT {signed state} AS state, {signed version} AS version, fingerprint, result, origin
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
   AND step = :step
