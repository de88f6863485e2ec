-- What every connection is set to once, so that no default of the server changes what a statement means; session_setting.rs says
-- what each does otherwise. Short waits, because a caller that waits can come back; UTC comes with the driver.
-- With snapshot isolation, on by default since MariaDB 11.6.2, a claim would wait for rows that a producer has not
-- committed; the fence does what it is for.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SET SESSION autocommit = 1, SESSION completion_type = 0, SESSION innodb_lock_wait_timeout = 5, SESSION lock_wait_timeout = 10,
    SESSION sql_auto_is_null = 0, SESSION sql_big_selects = 1, SESSION sql_buffer_result = 0, SESSION sql_safe_updates = 0,
    SESSION sql_select_limit = 18446744073709551615, SESSION unique_checks = 1, SESSION wait_timeout = 120,
    SESSION sql_mode = 'STRICT_TRANS_TABLES,STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION'
    /*!50708 , SESSION max_execution_time = 0 */
    /*M! , SESSION max_statement_time = 0 */
    /*M!110602 , SESSION innodb_snapshot_isolation = OFF */
