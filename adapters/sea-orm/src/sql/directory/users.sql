-- Users of the directory by their ids.
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes
  FROM claimstream_directory_user
 WHERE user_id IN (:users)
