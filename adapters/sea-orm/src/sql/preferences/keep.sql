-- Keeps a recipient that has said nothing yet, and locks its row until the transaction ends.
INSERT INTO claimstream_preference (recipient_hash, recipient, preferences, changed_at)
VALUES (:hash, :recipient, :preferences, {now})
{or_keep recipient_hash}
