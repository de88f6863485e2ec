-- A page of steps older than the bound in whose runs nothing is younger and everything is final, oldest first.
--
-- Not final are a branch that is tried (tcc), a transaction that has not ended (tcc-global), an event that is not over (timer),
-- a saga that has not ended, or whose steps were taken here and whose end was not noted here, and a step of which a part stands.
SELECT s.scope, s.run, {micros s.changed_at} AS changed
  FROM claimstream_step s
 WHERE s.changed_at >= {moment :from}
   AND s.changed_at < {moment :bound}
   AND (s.scope LIKE 'timer:%') = :of_timers
   AND NOT EXISTS (SELECT 1
                     FROM claimstream_step y
                    WHERE y.scope = s.scope
                      AND y.run = s.run
                      AND y.changed_at >= {moment :bound})
   AND NOT EXISTS (SELECT 1
                     FROM claimstream_step o
                    WHERE o.scope = s.scope
                      AND o.run = s.run
                      AND (   o.state = 255
                           OR (o.scope = 'tcc' AND o.state = 0)
                           OR (o.scope = 'tcc-global' AND o.state IN (0, 1, 3))
                           OR (o.scope LIKE 'timer:%' AND o.step = '' AND o.state = 0)
                           OR (o.scope LIKE 'saga:%' AND o.step = '' AND o.state IN (1, 2, 3))
                           OR (o.scope LIKE 'saga:%' AND o.step <> '' AND o.state IN (1, 3)
                               AND NOT EXISTS (SELECT 1
                                                 FROM claimstream_step e
                                                WHERE e.scope = o.scope
                                                  AND e.run = o.run
                                                  AND e.step = '')))
                  )
 ORDER BY s.changed_at
 LIMIT :limit
