-- Makes the lease of a shard, free.
INSERT INTO claimstream_lease (queue, shard, fence, held_until, in_flight, token)
VALUES (:queue, :shard, 0, {now}, 0, 0)
