-- How many requests there are, up to a million.
SELECT COUNT(*) AS estimate
  FROM (SELECT 1
          FROM claimstream_notification_request
         LIMIT 1000000)
