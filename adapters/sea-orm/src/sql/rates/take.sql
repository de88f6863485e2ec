-- Hands tokens out, unless another process was faster.
UPDATE claimstream_provider_rate
   SET handed_out_until = {moment :until}
 WHERE provider = :provider
   AND handed_out_until = {moment :seen}
