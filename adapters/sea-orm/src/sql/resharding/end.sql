-- Forgets a resharding whose triggers are gone.
DELETE FROM claimstream_schema
 WHERE capability = 'resharding'
   AND version = 1
   AND shards = :shards
