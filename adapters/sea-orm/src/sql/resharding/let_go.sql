-- Has relays claim from a shard again.
DELETE FROM claimstream_pause
 WHERE queue = :queue
   AND shard = :shard
