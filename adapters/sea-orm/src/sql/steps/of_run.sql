-- The rows of a run, without their results.
SELECT step, {signed state} AS state, {signed version} AS version, {since created_at} AS age, {since changed_at} AS quiet
  FROM claimstream_step
 WHERE scope = :scope
   AND run = :run
 ORDER BY step
 LIMIT :limit
