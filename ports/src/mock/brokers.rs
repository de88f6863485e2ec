//! Mocks of the ports to brokers.

use async_trait::async_trait;
use claimstream_domain::{Publication, Published};

use crate::{Consume, ConsumeError, Delivery, Publish};

mockall::mock! {
    pub Publish {}
    #[async_trait]
    impl Publish for Publish {
        async fn publish(&self, publications: &[Publication]) -> Vec<Published>;
    }
}

mockall::mock! {
    pub Consume {}
    #[async_trait]
    impl Consume for Consume {
        async fn next(&self) -> Result<Delivery, ConsumeError>;
    }
}
