-- A page of notes of one kind of saga that were made before the sweep's bound and of which no step is kept any more. Notes without an
-- owner have been shortened; they stand first in the index, and are passed over.
SELECT s.owner, {micros s.created_at} AS created, s.run
  FROM claimstream_saga s
 WHERE s.scope = {text :scope}
   AND s.owner >= {text :owner}
   AND (s.owner > {text :owner} OR s.created_at > {moment :from} OR (s.created_at = {moment :from} AND s.run > {text :run}))
   AND s.created_at < {moment :bound}
   AND NOT EXISTS (SELECT 1 FROM claimstream_step t WHERE t.scope = s.scope AND t.run = s.run)
 ORDER BY s.owner, s.created_at, s.run
 LIMIT :limit
