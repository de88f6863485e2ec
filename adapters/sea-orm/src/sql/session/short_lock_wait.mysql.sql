-- Where shards are leased: a lease that another transaction keeps locked is not worth a longer wait, and a second is the shortest there is.
SET SESSION innodb_lock_wait_timeout = 1
