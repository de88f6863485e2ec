
-- Requests by their age, for lists of them. A server that has the index refuses the statement, and that is no error.
CREATE INDEX requests_by_age ON claimstream_notification_request (created_at);
