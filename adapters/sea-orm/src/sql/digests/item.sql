-- Keeps items of digests.
INSERT INTO claimstream_digest_item (id, digest_id, item, created_at)
VALUES (:id, :digest_id, :item, {now})
