-- Forgets erasures that are older than the bound and than every request, some at a time.
DELETE FROM claimstream_erased_recipient
 WHERE recipient_hash IN (SELECT e.recipient_hash
                            FROM claimstream_erased_recipient e
                           WHERE e.erased_at < {moment :bound}
                             AND e.erased_at < COALESCE((SELECT MIN(r.created_at) FROM claimstream_notification_request r), {moment :bound})
                           ORDER BY e.erased_at
                           LIMIT :limit)
