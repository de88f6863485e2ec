-- Counts new items in the open digests of their keys, and opens one where none is open; locks all of them, by key.
INSERT INTO claimstream_digest (digest_key, digest_id, items, closes_at)
VALUES (:key, :id, :items, {later :window})
ON DUPLICATE KEY UPDATE
  digest_id = CASE WHEN closes_at <= {now} OR items >= :most THEN VALUES(digest_id) ELSE digest_id END,
  items = CASE WHEN digest_id = VALUES(digest_id) THEN VALUES(items) ELSE items + VALUES(items) END,
  closes_at = CASE WHEN digest_id = VALUES(digest_id) THEN VALUES(closes_at) ELSE closes_at END
