-- Notes who makes claim ids.
INSERT INTO claimstream_instance (instance, label, seen_at)
VALUES (:instance, :label, UTC_TIMESTAMP(6))
ON DUPLICATE KEY UPDATE label = :label, seen_at = UTC_TIMESTAMP(6)
