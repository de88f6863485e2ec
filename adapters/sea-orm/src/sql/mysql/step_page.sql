-- A page of steps older than the bound in whose runs nothing is younger, oldest first.
SELECT s.scope, s.run, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', s.changed_at) AS changed
  FROM claimstream_step s
 WHERE s.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :from MICROSECOND
   AND s.changed_at < TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND
   AND NOT EXISTS (SELECT 1
                     FROM claimstream_step y
                    WHERE y.scope = s.scope
                      AND y.run = s.run
                      AND y.changed_at >= TIMESTAMP'1970-01-01 00:00:00' + INTERVAL :bound MICROSECOND)
 ORDER BY s.changed_at
 LIMIT :limit
