-- The bodies that are still there of messages that were finished: when they were stored, and how long ago that is.
SELECT id,
       TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', created_at) AS stored_at,
       TIMESTAMPDIFF(MICROSECOND, created_at, UTC_TIMESTAMP(6)) AS age
  FROM claimstream_message
 WHERE id IN (:ids)
