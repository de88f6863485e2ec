-- What {name} stands for on MySQL and MariaDB; $ is what follows the name. README.md says what each means.
now        = UTC_TIMESTAMP(6)
moment     = TIMESTAMP'1970-01-01 00:00:00' + INTERVAL $ MICROSECOND
micros     = TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', $)
first      = CASE WHEN $ IS NOT NULL THEN COALESCE(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', $), 0) END
since      = TIMESTAMPDIFF(MICROSECOND, $, UTC_TIMESTAMP(6))
days_since = TIMESTAMPDIFF(DAY, $, UTC_TIMESTAMP(6))
span       = INTERVAL $ MICROSECOND
later      = UTC_TIMESTAMP(6) + INTERVAL LEAST($, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), TIMESTAMP'9999-12-31 23:59:59.999999')) MICROSECOND
signed     = CAST($ AS SIGNED)
text       = $
octets     = OCTET_LENGTH($)
greatest   = GREATEST
is         = <=>
then_join  = STRAIGHT_JOIN
by_primary = FORCE INDEX (PRIMARY)
to_first   = /*+ NO_SKIP_SCAN($) */
by_age     = FORCE INDEX (age)
unreadable = ($.available_at < TIMESTAMP'1970-01-01 00:00:00')
and_whole  =
and_text   =
and_dated  = AND $.died_at >= TIMESTAMP'1970-01-01 00:00:00'
for_update = FOR UPDATE $
for_share  = LOCK IN SHARE MODE
or_keep    = ON DUPLICATE KEY UPDATE $ = $
or_update  = ON DUPLICATE KEY UPDATE
