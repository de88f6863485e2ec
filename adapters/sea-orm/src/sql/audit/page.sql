-- The newest entries before a number, the newest first.
SELECT number, {since noted_at} AS age, actor, action, subject, affected
  FROM claimstream_audit
 WHERE number < :before
 ORDER BY number DESC
 LIMIT :limit
