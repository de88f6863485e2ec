-- When the tables were made, which tells one outbox from another.
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', applied_at)
  FROM claimstream_schema
 WHERE version = 1
