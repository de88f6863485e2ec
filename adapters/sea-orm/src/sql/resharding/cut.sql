-- Notes that messages are written by the new count from now on.
UPDATE claimstream_resharding
   SET cut_at = {now}
 WHERE number = 1
   AND shards = :shards
   AND cut_at IS NULL
