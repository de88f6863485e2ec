-- Notes attempts at messages; one that is noted again is left as it is. Nothing is said of a recipient that was erased: a provider's words may
-- name an address.
INSERT INTO claimstream_notification_attempt
       (message_id, claim_id, call_number, number, provider, began_at, took, class, acceptance, reason, reference)
VALUES (:message, :claim, :call, :number, :provider, {now} - {span :ago}, :took, :class, :acceptance,
        CASE WHEN EXISTS (SELECT 1 FROM claimstream_notification_message m WHERE m.id = :message AND m.recipient = :erased) THEN NULL ELSE :reason END,
        CASE WHEN EXISTS (SELECT 1 FROM claimstream_notification_message m WHERE m.id = :message AND m.recipient = :erased) THEN NULL ELSE :reference END)
{or_keep number}
