-- Forgets a resharding whose triggers are gone.
DELETE FROM claimstream_resharding
 WHERE number = 1
   AND shards = :shards
