-- Keeps what is said of messages; a kind that is known stays as it is.
INSERT INTO claimstream_notification_receipt (message_id, kind, seen_at, said_at)
VALUES (:message, :kind, {now} - {span :ago}, :said_at)
{or_keep kind}
