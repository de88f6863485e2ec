-- Where a look at so many rows of the ledger ends that begins behind a place; it reads the index by age alone.
SELECT {micros s.changed_at} AS changed, s.scope, s.run, s.step
  FROM claimstream_step s {by_age}
 WHERE s.changed_at >= {moment :from}
   AND s.changed_at <= {now} - {span :quiet}
   AND (s.changed_at > {moment :from} OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step))
 ORDER BY s.changed_at, s.scope, s.run, s.step
 LIMIT 1 OFFSET :others
