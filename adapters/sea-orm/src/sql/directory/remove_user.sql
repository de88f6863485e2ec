-- Removes a user from the directory.
DELETE FROM claimstream_directory_user
 WHERE user_id = :user
