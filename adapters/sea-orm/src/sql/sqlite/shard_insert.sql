-- Cuts queues into shards.
INSERT INTO claimstream_shard (shard)
VALUES (:shard)
ON CONFLICT DO NOTHING
