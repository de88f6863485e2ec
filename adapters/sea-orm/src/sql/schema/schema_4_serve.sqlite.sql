
-- Requests by their age, for lists of them.
CREATE INDEX IF NOT EXISTS claimstream_notification_request_requests_by_age ON claimstream_notification_request (created_at, id);
