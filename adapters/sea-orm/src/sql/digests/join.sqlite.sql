-- Counts new items in the open digests of their keys, and opens one where none is open.
INSERT INTO claimstream_digest (digest_key, digest_id, items, closes_at)
VALUES (:key, :id, :items, {later :window})
ON CONFLICT (digest_key) DO UPDATE SET
  digest_id = CASE WHEN closes_at <= {now} OR items >= :most THEN excluded.digest_id ELSE digest_id END,
  items = CASE WHEN closes_at <= {now} OR items >= :most THEN excluded.items ELSE items + excluded.items END,
  closes_at = CASE WHEN closes_at <= {now} OR items >= :most THEN excluded.closes_at ELSE closes_at END
