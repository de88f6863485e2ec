-- Notes attempts at messages; one that is noted again is left as it is.
INSERT INTO claimstream_notification_attempt
       (message_id, claim_id, call_number, number, provider, began_at, took, class, acceptance, reason, reference)
VALUES (:message, :claim, :call, :number, :provider, {now} - {span :ago}, :took, :class, :acceptance, :reason, :reference)
{or_keep number}
