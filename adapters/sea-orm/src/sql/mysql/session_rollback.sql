-- What every connection is sent when it comes back to the pool: a cancelled caller may have left a transaction open.
ROLLBACK
