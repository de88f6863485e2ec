-- A page of notes of sagas that were made before the sweep's bound and of which no step is kept any more.
SELECT s.scope, s.run
  FROM claimstream_saga s
 WHERE (s.scope > {text :scope} OR (s.scope = {text :scope} AND s.run > {text :run}))
   AND s.created_at < {moment :bound}
   AND NOT EXISTS (SELECT 1 FROM claimstream_step t WHERE t.scope = s.scope AND t.run = s.run)
 ORDER BY s.scope, s.run
 LIMIT :limit
