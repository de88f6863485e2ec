-- Notes who makes claim ids.
INSERT INTO claimstream_instance (instance, label, seen_at)
VALUES (:instance, :label, :now)
ON CONFLICT (instance) DO UPDATE SET label = :label, seen_at = :now
