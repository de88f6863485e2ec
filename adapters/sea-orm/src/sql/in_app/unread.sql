-- How many entries a user has not read, up to a limit.
SELECT {signed COUNT(*)} AS unread
  FROM (SELECT 1
          FROM claimstream_in_app
         WHERE user_id = :user
           AND is_read = 0
         LIMIT :limit) some
