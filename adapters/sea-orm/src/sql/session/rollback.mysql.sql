-- What every connection is sent when it comes back to the pool: a cancelled caller may have left a transaction open, and
-- our own transactions run on connections that commit only on COMMIT.
ROLLBACK;
SET autocommit = 1
