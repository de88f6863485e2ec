-- Keeps the fingerprint that a request had before anything of it was erased.
INSERT INTO claimstream_notification_erasure (request_id, fingerprint, erased_at)
VALUES (:id, :fingerprint, {now})
{or_keep request_id}
