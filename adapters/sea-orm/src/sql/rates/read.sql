-- How far the tokens of a provider's rate are handed out, and how long ago that is.
SELECT {micros handed_out_until} AS handed_out_until,
       {since handed_out_until} AS behind
  FROM claimstream_provider_rate
 WHERE provider = :provider
