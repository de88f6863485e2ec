-- Forgets the items of messages that go.
DELETE FROM claimstream_digest_item
 WHERE id IN (:ids)
