-- Takes entries of inboxes away whose messages are erased.
DELETE FROM claimstream_in_app
 WHERE id IN (:ids)
