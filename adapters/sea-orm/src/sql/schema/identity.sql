-- When the tables were made, which identifies an outbox.
SELECT {micros applied_at} AS made_at
  FROM claimstream_schema
 WHERE capability = 'outbox'
   AND version = 1
