-- Has relays claim from a shard again.
DELETE FROM claimstream_closed_shard
 WHERE queue = :queue
   AND shard = :shard
