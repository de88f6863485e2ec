-- When the tables were made, which tells one outbox from another.
SELECT {micros applied_at} AS made_at
  FROM claimstream_schema
 WHERE version = 1
