-- Takes a notification request in; one that is known stays as it is.
INSERT INTO claimstream_notification_request (id, status, request, created_at, changed_at)
VALUES (:id, 'PENDING', :request, :now, :now)
ON CONFLICT DO NOTHING
