-- Whether any notification was ever requested here and is still known.
SELECT EXISTS (SELECT 1 FROM claimstream_notification_request) AS used
