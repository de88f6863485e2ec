-- A page of the users of the directory.
SELECT user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes
  FROM claimstream_directory_user
 WHERE user_id > :after
   {and_text user_id}
 ORDER BY user_id
 LIMIT :limit
