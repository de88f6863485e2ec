-- Statements that change nothing, to learn whether the user may insert, update and delete wherever notifications do.
INSERT INTO claimstream_notification_request SELECT * FROM claimstream_notification_request WHERE 1 = 0;
UPDATE claimstream_notification_request SET status = status WHERE 1 = 0;
DELETE FROM claimstream_notification_request WHERE 1 = 0;
INSERT INTO claimstream_notification_message SELECT * FROM claimstream_notification_message WHERE 1 = 0;
UPDATE claimstream_notification_message SET status = status WHERE 1 = 0;
DELETE FROM claimstream_notification_message WHERE 1 = 0;
