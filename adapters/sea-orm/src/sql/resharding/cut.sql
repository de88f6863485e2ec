-- Notes that messages are written by the new count from now on.
UPDATE claimstream_schema
   SET applied_at = {now}
 WHERE capability = 'resharding'
   AND version = 1
   AND shards = :shards
   AND applied_at IS NULL
