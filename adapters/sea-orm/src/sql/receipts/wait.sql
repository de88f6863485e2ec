-- Keeps receipts until their deliveries are noted; one that waits already stays as it is.
INSERT INTO claimstream_notification_receipt_waiting (provider, reference, kind, address, said_at, note, seen_at)
VALUES (:provider, :reference, :kind, :address, :said_at, :note, {now})
{or_keep claimstream_notification_receipt_waiting.kind}
