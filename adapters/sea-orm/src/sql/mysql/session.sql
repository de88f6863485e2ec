-- What every connection is set to once. Short waits, because whoever waits can come back; UTC comes with the driver.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION innodb_lock_wait_timeout = 5, SESSION lock_wait_timeout = 10, SESSION wait_timeout = 120,
    SESSION sql_mode = CONCAT_WS(',', @@sql_mode, 'STRICT_TRANS_TABLES', 'STRICT_ALL_TABLES')
