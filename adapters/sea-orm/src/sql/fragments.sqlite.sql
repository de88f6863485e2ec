-- What {name} stands for on SQLite; $ is what follows the name. README.md says what each means.
now        = :now
moment     = $
micros     = $
first      = CASE TYPEOF($) WHEN 'integer' THEN $ WHEN 'null' THEN NULL ELSE 0 END
since      = :now - $
days_since = (:now - $) / 86400000000
span       = $
later      = MIN(:now + $, 253402300799999999)
signed     = $
text       = CAST($ AS TEXT)
octets     = LENGTH($)
greatest   = MAX
is         = IS
then_join  = CROSS JOIN
by_primary =
to_first   =
by_age     = INDEXED BY claimstream_step_age
unreadable = (TYPEOF($.queue) <> 'text' OR TYPEOF($.shard) <> 'integer' OR TYPEOF($.available_at) <> 'integer' OR $.available_at < 0 OR TYPEOF($.id) <> 'blob' OR LENGTH($.id) <> 16)
and_whole  = AND TYPEOF($.id) = 'blob' AND LENGTH($.id) = 16
and_text   = AND $ < X''
and_dated  = AND TYPEOF($.died_at) = 'integer' AND $.died_at >= 0
for_update =
for_share  =
or_keep    = ON CONFLICT DO NOTHING
or_update  = ON CONFLICT ($) DO UPDATE SET
