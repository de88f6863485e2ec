-- Runs between two places of the index by age, in whose rows nothing has changed for a time. Scope and step are looked at in the
-- index; the row itself is read where they match, and no result is. MariaDB reads all that has changed since for a NOT EXISTS.
SELECT s.scope, s.run, s.step, {signed s.state} AS state, {signed s.version} AS version,
       {micros s.changed_at} AS changed, {since s.created_at} AS age,
       {since (SELECT MAX(y.changed_at) FROM claimstream_step y {by_primary} WHERE y.scope = s.scope AND y.run = s.run)} AS quiet
  FROM claimstream_step s {by_age}
 WHERE s.changed_at >= {moment :from}
   AND s.changed_at <= {moment :to}
   AND s.changed_at <= {now} - {span :quiet}
   AND (s.changed_at > {moment :from} OR (s.scope, s.run, s.step) > (:after_scope, :after_run, :after_step))
   AND (s.changed_at < {moment :to} OR (s.scope, s.run, s.step) <= (:to_scope, :to_run, :to_step))
   AND s.scope >= :first
   AND s.scope < :end
   AND s.step <= :last_step
   AND s.state NOT IN (:ended)
   AND (SELECT MAX(o.changed_at) FROM claimstream_step o {by_primary} WHERE o.scope = s.scope AND o.run = s.run) <= {now} - {span :quiet}
 ORDER BY s.changed_at, s.scope, s.run, s.step
 LIMIT :limit
