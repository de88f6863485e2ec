-- Forgets erasures that are older than the bound and than every request, some at a time.
DELETE FROM claimstream_erased_recipient
 WHERE erased_at < {moment :bound}
   AND erased_at < COALESCE((SELECT MIN(r.created_at) FROM claimstream_notification_request r), {moment :bound})
 ORDER BY erased_at
 LIMIT :limit
