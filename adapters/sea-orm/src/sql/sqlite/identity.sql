-- When the tables were made, which tells one outbox from another.
SELECT applied_at
  FROM claimstream_schema
 WHERE version = 1
