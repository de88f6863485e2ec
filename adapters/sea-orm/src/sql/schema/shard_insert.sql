-- Cuts queues into shards; refused where they have been cut before.
INSERT INTO claimstream_shard (shard)
VALUES (:shard)
