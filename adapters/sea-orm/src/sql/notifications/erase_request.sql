-- Leaves of a request what names the recipient no more.
UPDATE claimstream_notification_request
   SET request = :request
 WHERE id = :id
