-- Has no relay begin to claim from a shard for a while.
INSERT INTO claimstream_pause (queue, shard, paused_at, paused_by, resumed_at)
VALUES (:queue, :shard, {now}, 'resharding', {later :after})
{or_update queue, shard} resumed_at = {later :after}
