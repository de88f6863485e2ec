-- Takes away entries that were put in for recipients who had been erased meanwhile.
DELETE FROM claimstream_in_app
 WHERE id IN (:ids)
   AND EXISTS (SELECT 1
                 FROM claimstream_notification_message m
                WHERE m.id = claimstream_in_app.id
                  AND m.recipient = :erased)
