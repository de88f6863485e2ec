-- Takes back the bodies of messages whose dedup keys turned out to be taken.
DELETE FROM claimstream_message
 WHERE id IN (:ids)
