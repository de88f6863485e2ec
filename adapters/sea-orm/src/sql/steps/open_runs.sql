-- Runs whose last change is older than steps are kept and that are not final: they stay until an operator ends them.
SELECT o.scope, COUNT(DISTINCT o.run) AS runs, {days_since MIN(o.changed_at)} AS days
  FROM claimstream_step o
 WHERE o.changed_at < {now} - {span :kept}
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
 GROUP BY o.scope
 ORDER BY o.scope
