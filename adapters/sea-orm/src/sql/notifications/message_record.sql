-- Keeps what a request comes to for recipients and channels.
INSERT INTO claimstream_notification_message (id, request_id, channel, recipient, status, reason, created_at, changed_at)
VALUES (:id, :request_id, :channel, :recipient, :status, :reason, {now}, {now})
