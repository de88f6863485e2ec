-- Takes a notification request in.
INSERT INTO claimstream_notification_request (id, status, request, created_at, changed_at)
VALUES (:id, 'PENDING', :request, {now}, {now})
