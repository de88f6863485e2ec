-- Forgets a resharding that was begun, unless messages are written by its count.
DELETE FROM claimstream_resharding
 WHERE number = 1
   AND shards = :shards
   AND cut_at IS NULL
