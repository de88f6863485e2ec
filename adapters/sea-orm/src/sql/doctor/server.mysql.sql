-- What the start-up self-check asks a server about itself and about the session.
SHOW SESSION VARIABLES
 WHERE Variable_name IN ('version', 'version_comment', 'tx_isolation', 'transaction_isolation', 'sql_mode', 'time_zone',
                         'binlog_format', 'log_bin', 'wsrep_on', 'innodb_flush_log_at_trx_commit', 'sync_binlog',
                         'max_allowed_packet', 'max_connections', 'read_only', 'innodb_read_only', 'innodb_snapshot_isolation',
                         'autocommit', 'character_set_client', 'completion_type', 'sql_auto_is_null', 'sql_big_selects',
                         'sql_safe_updates', 'sql_select_limit', 'unique_checks')
