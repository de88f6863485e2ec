-- Holds recipients until the transaction ends, erased or not: an erasure waits.
INSERT INTO claimstream_erased_recipient (recipient_hash, erased_at)
VALUES (:hash, NULL)
{or_keep recipient_hash}
