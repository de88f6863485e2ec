use std::sync::Arc;

use claimstream_ports::{StoreError, notification::MessageOutcome};

use super::RequestHandler;

/// Records that have lapsed while their requests were fanned out.
impl RequestHandler {
    /// Concludes the messages of several requests together; if that is refused for good, those of each request alone.
    pub(super) async fn conclude_each(
        &self,
        of_requests: &[Vec<MessageOutcome>],
    ) -> Vec<Result<(), Arc<StoreError>>> {
        let all = of_requests.concat();
        let concluded = match all.is_empty() {
            true => Ok(()),
            false => self.messages.conclude(&all).await.map_err(Arc::new),
        };
        let apart = concluded.as_ref().is_err_and(|error| !error.is_about_the_store());
        let mut each = Vec::with_capacity(of_requests.len());
        for outcomes in of_requests {
            each.push(match (outcomes.is_empty(), apart && outcomes.len() < all.len()) {
                (true, _) => Ok(()),
                (false, true) => self.messages.conclude(outcomes).await.map_err(Arc::new),
                (false, false) => concluded.clone(),
            });
        }
        each
    }
}
