use claimstream_domain::{
    Reason,
    notification::{
        NotificationMessage,
        consent::{Address, Suppression},
    },
};
use claimstream_ports::StoreError;

use super::MessageHandler;

/// Addresses that a provider's refusal says are not to be written to again.
impl MessageHandler {
    /// Suppresses the address of a message, if this handler suppresses addresses.
    pub(super) async fn suppress(
        &self,
        message: &NotificationMessage,
        suppression: Suppression,
        reason: &Reason,
    ) -> Result<(), StoreError> {
        let Some(suppressions) = &self.suppressions else { return Ok(()) };
        let address = Address::new(message.channel, &message.address);
        suppressions.suppress(&address, suppression, Some(reason.to_string())).await?;
        tracing::info!(
            message_id = %message.id, channel = %message.channel, reason = %suppression,
            "notification.address.suppressed"
        );
        Ok(())
    }
}
