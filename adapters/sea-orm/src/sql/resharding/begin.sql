-- Notes that a resharding begins; one that was begun stays.
INSERT INTO claimstream_resharding (number, shards, from_shards)
VALUES (1, :shards, :from_shards)
{or_keep number}
