-- Puts entries into the inboxes of users; one that is known stays as it is, read or not.
INSERT INTO claimstream_in_app (id, user_id, request_id, content, is_read, created_at)
VALUES (:id, :user, :request_id, :content, 0, {now})
{or_keep id}
