-- Forgets a resharding that was begun, unless messages are written by its count.
DELETE FROM claimstream_schema
 WHERE capability = 'resharding'
   AND version = 1
   AND shards = :shards
   AND applied_at IS NULL
