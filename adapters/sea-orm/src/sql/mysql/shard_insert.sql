-- Cuts queues into shards.
INSERT INTO claimstream_shard (shard)
VALUES (:shard)
ON DUPLICATE KEY UPDATE shard = shard
