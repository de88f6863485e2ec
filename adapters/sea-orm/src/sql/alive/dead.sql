-- When the oldest dead letter was stored first, and the oldest that is no tick of a timer: a tick comes for steps of its timer alone.
SELECT (SELECT MIN({first d.created_at}) FROM claimstream_dead d) AS created_at,
       (SELECT MIN({first d.created_at})
          FROM claimstream_dead d
         WHERE NOT EXISTS (SELECT 1
                             FROM claimstream_dedup k
                            WHERE k.queue = d.queue
                              AND k.dedup_key >= 'timer/'
                              AND k.dedup_key < 'timer0'
                              AND k.message_id = d.id)) AS but_ticks
