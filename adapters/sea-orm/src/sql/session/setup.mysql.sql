-- What every connection is set to once. Short waits, because a caller that waits can come back; UTC comes with the driver.
-- With snapshot isolation, on by default since MariaDB 11.6.2, a claim would wait for rows that a producer has not
-- committed; the fence does what it is for. Statements commit themselves, whatever the server's default is.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION autocommit = 1, SESSION innodb_lock_wait_timeout = 5, SESSION lock_wait_timeout = 10, SESSION wait_timeout = 120,
    SESSION sql_mode = CONCAT_WS(',', @@sql_mode, 'STRICT_TRANS_TABLES', 'STRICT_ALL_TABLES')
    /*M!110602 , SESSION innodb_snapshot_isolation = OFF */
