-- Makes the row of a provider's rate.
INSERT INTO claimstream_provider_rate (provider, handed_out_until)
VALUES (:provider, {now})
{or_keep provider}
