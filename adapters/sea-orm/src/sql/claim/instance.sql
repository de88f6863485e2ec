-- Notes who makes claim ids.
INSERT INTO claimstream_instance (instance, label, seen_at)
VALUES (:instance, :label, {now})
{or_update instance} label = :label, seen_at = {now}
