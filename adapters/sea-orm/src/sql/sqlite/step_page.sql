-- A page of steps older than the bound in whose runs nothing is younger, oldest first.
SELECT s.scope, s.run, s.changed_at
  FROM claimstream_step s
 WHERE s.changed_at >= :from
   AND s.changed_at < :bound
   AND NOT EXISTS (SELECT 1
                     FROM claimstream_step y
                    WHERE y.scope = s.scope
                      AND y.run = s.run
                      AND y.changed_at >= :bound)
 ORDER BY s.changed_at
 LIMIT :limit
