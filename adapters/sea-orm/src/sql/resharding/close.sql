-- Has no relay begin to claim from a shard for a while.
INSERT INTO claimstream_closed_shard (queue, shard, closed_until)
VALUES (:queue, :shard, {later :after})
{or_update queue, shard} closed_until = {later :after}
