-- How long the history list is; needs the privilege PROCESS.
SELECT CAST(`COUNT` AS SIGNED) AS history
  FROM information_schema.INNODB_METRICS
 WHERE NAME = 'trx_rseg_history_len'
