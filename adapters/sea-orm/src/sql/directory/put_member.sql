-- Puts users into a segment; one that is in it stays.
INSERT INTO claimstream_directory_member (segment, user_id)
VALUES (:segment, :user)
{or_keep user_id}
