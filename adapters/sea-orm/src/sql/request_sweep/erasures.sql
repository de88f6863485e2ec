-- Forgets the erasures of requests that go.
DELETE FROM claimstream_notification_erasure
 WHERE request_id IN (:ids)
