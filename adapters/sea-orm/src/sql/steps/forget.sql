-- Forgets runs; a step that was changed meanwhile stays.
DELETE FROM claimstream_step
 WHERE scope = :scope
   AND run IN (:runs)
   AND changed_at < {moment :bound}
