-- Puts users into the directory, each in place of the row that its id has.
REPLACE INTO claimstream_directory_user
  (user_id, email, phone, device_token, webhook, chat, language, time_zone, attributes, changed_at)
VALUES (:user, :email, :phone, :device_token, :webhook, :chat, :language, :time_zone, :attributes, {now})
