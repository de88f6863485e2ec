-- Takes a user out of all segments.
DELETE FROM claimstream_directory_member
 WHERE user_id = :user
