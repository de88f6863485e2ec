//! Mocks of the ports of notifications.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use claimstream_domain::Fingerprint;
use claimstream_domain::notification::{
    DeliveryReceipt, DeliveryStatus, DirectoryEntry, InAppEntry, InAppPage, NewInAppEntry,
    NotificationMessage, NotificationRecord, NotificationRequest, Progress, ReceiptFact, ReceiptTaken,
    Recipient, SegmentPlace, Submitted, TemplateVersion,
    consent::{Address, PreferenceChange, Preferences, SuppressedAddress, Suppression},
    digest::KeptItem,
    provider::{Grant, ProviderName, Rate},
};
use uuid::Uuid;

use crate::{
    StoreError,
    notification::{
        AttemptLog, Cancelled, ChannelProvider, ConsentsRead, Delivered, DeliveryAttempt, DeliveryError,
        DeliveryReceipts, DeliveryState, DigestPlace, DigestRepository, DirectoryRepository, EraseRecipient,
        Erased, FanOutStep, FoundUsers, InAppInbox, ListRequests, MessageOutcome, MessageRepository,
        MissingRecord, NotificationReports, PreferenceRepository, RateLimiter, RecipientDirectory,
        RequestFilter, RequestListed, RequestPage, RequestRead, RequestRepository, SegmentPage, StepNoted,
        SubmitRequests, Suppressions, TemplateSource,
    },
};

mockall::mock! {
    pub ChannelProvider {}
    #[async_trait]
    impl ChannelProvider for ChannelProvider {
        async fn deliver(&self, message: &NotificationMessage) -> Result<Delivered, DeliveryError>;
    }
}

mockall::mock! {
    pub RecipientDirectory {}
    #[async_trait]
    impl RecipientDirectory for RecipientDirectory {
        async fn users(&self, ids: &[String]) -> Result<FoundUsers, StoreError>;
        async fn members(
            &self,
            segment: &str,
            from: &SegmentPlace,
            limit: u32,
        ) -> Result<Option<SegmentPage>, StoreError>;
    }
}

mockall::mock! {
    pub DirectoryRepository {}
    #[async_trait]
    impl DirectoryRepository for DirectoryRepository {
        async fn put(&self, users: &[Recipient], segment: Option<String>) -> Result<(), StoreError>;
        async fn put_members(&self, segment: &str, users: &[String]) -> Result<Vec<String>, StoreError>;
        async fn remove_members(&self, segment: &str, users: &[String]) -> Result<u64, StoreError>;
        async fn entry(&self, user: &str) -> Result<Option<DirectoryEntry>, StoreError>;
        async fn list(&self, from: &SegmentPlace, limit: u32) -> Result<SegmentPage, StoreError>;
        async fn remove(&self, user: &str) -> Result<bool, StoreError>;
    }
}

mockall::mock! {
    pub TemplateSource {}
    #[async_trait]
    impl TemplateSource for TemplateSource {
        async fn published(&self, id: &str) -> Result<Option<Arc<TemplateVersion>>, StoreError>;
        async fn version(&self, id: &str, number: u32) -> Result<Option<Arc<TemplateVersion>>, StoreError>;
    }
}

mockall::mock! {
    pub SubmitRequests<Tx: Send + Sync + 'static> {}
    #[async_trait]
    impl<Tx: Send + Sync + 'static> SubmitRequests<Tx> for SubmitRequests<Tx> {
        async fn submit(&self, tx: &Tx, requests: &[NotificationRequest]) -> Result<Vec<Submitted>, StoreError>;
    }
}

mockall::mock! {
    pub EraseRecipient {}
    #[async_trait]
    impl EraseRecipient for EraseRecipient {
        async fn erase(&self, recipient: &str, addresses: &[Address]) -> Result<Erased, StoreError>;
    }
}

mockall::mock! {
    pub RequestRepository {}
    #[async_trait]
    impl RequestRepository for RequestRepository {
        async fn read(&self, ids: &[Uuid]) -> Result<Vec<Option<RequestRead>>, StoreError>;
        async fn note_steps(&self, steps: &[FanOutStep]) -> Result<Vec<StepNoted>, StoreError>;
        async fn cancel(&self, id: Uuid) -> Result<Cancelled, StoreError>;
    }
}

mockall::mock! {
    pub AttemptLog {}
    #[async_trait]
    impl AttemptLog for AttemptLog {
        async fn note(&self, attempts: &[DeliveryAttempt]) -> Result<(), StoreError>;
        async fn attempts(&self, messages: &[Uuid]) -> Result<Vec<DeliveryAttempt>, StoreError>;
    }
}

mockall::mock! {
    pub RateLimiter {}
    #[async_trait]
    impl RateLimiter for RateLimiter {
        async fn grant(&self, provider: &ProviderName, rate: Rate, wanted: u32) -> Result<Grant, StoreError>;
    }
}

mockall::mock! {
    pub MessageRepository {}
    #[async_trait]
    impl MessageRepository for MessageRepository {
        async fn status(&self, ids: &[Uuid]) -> Result<Vec<Option<DeliveryStatus>>, StoreError>;
        async fn delivery_states(&self, ids: &[Uuid]) -> Result<Vec<DeliveryState>, StoreError>;
        async fn since_1970(&self) -> Result<Duration, StoreError>;
        async fn conclude(&self, outcomes: &[MessageOutcome]) -> Result<(), StoreError>;
        async fn restore(
            &self,
            missing: &[MissingRecord],
        ) -> Result<Vec<Option<DeliveryStatus>>, StoreError>;
        async fn reopen(&self, id: Uuid) -> Result<Option<DeliveryStatus>, StoreError>;
    }
}

mockall::mock! {
    pub PreferenceRepository {}
    #[async_trait]
    impl PreferenceRepository for PreferenceRepository {
        async fn consents(
            &self,
            recipients: &[String],
            addresses: &[Address],
        ) -> Result<ConsentsRead, StoreError>;
        async fn change(
            &self,
            recipient: &str,
            changes: &[PreferenceChange],
        ) -> Result<Preferences, StoreError>;
    }
}

mockall::mock! {
    pub Suppressions {}
    #[async_trait]
    impl Suppressions for Suppressions {
        async fn suppress(
            &self,
            address: &Address,
            reason: Suppression,
            note: Option<String>,
        ) -> Result<(), StoreError>;
        async fn lift(&self, address: &Address) -> Result<bool, StoreError>;
        async fn suppressed(
            &self,
            after: Option<Fingerprint>,
            limit: u32,
        ) -> Result<Vec<SuppressedAddress>, StoreError>;
    }
}

mockall::mock! {
    pub NotificationReports {}
    #[async_trait]
    impl NotificationReports for NotificationReports {
        async fn progress(&self, id: Uuid) -> Result<Option<Progress>, StoreError>;
        async fn messages(
            &self,
            id: Uuid,
            after: Option<Uuid>,
            limit: u32,
        ) -> Result<Vec<NotificationRecord>, StoreError>;
        async fn record(&self, message: Uuid) -> Result<Option<NotificationRecord>, StoreError>;
    }
}

mockall::mock! {
    pub ListRequests {}
    #[async_trait]
    impl ListRequests for ListRequests {
        async fn list(
            &self,
            filter: &RequestFilter,
            after: Option<Uuid>,
            limit: u32,
        ) -> Result<RequestPage, StoreError>;
        async fn listed(&self, id: Uuid) -> Result<Option<RequestListed>, StoreError>;
    }
}

mockall::mock! {
    pub InAppInbox {}
    #[async_trait]
    impl InAppInbox for InAppInbox {
        async fn put(&self, entries: &[NewInAppEntry]) -> Result<(), StoreError>;
        async fn page(&self, page: &InAppPage) -> Result<Vec<InAppEntry>, StoreError>;
        async fn unread(&self, user: &str) -> Result<u64, StoreError>;
        async fn mark_read(&self, user: &str, ids: &[Uuid]) -> Result<u64, StoreError>;
        async fn mark_read_up_to(&self, user: &str, newest: Uuid) -> Result<u64, StoreError>;
        async fn recent(&self, users: &[String], within: Duration, limit: u32) -> Result<Vec<InAppEntry>, StoreError>;
        async fn forget_older(&self, age: Duration, limit: u32) -> Result<u64, StoreError>;
        async fn forget_user(&self, user: &str, limit: u32) -> Result<u64, StoreError>;
    }
}

mockall::mock! {
    pub DeliveryReceipts {}
    #[async_trait]
    impl DeliveryReceipts for DeliveryReceipts {
        async fn take(&self, receipts: &[DeliveryReceipt]) -> Result<Vec<ReceiptTaken>, StoreError>;
        async fn take_waiting(&self, within: Duration, limit: u32) -> Result<u64, StoreError>;
        async fn forget_waiting(&self, age: Duration, limit: u32) -> Result<u64, StoreError>;
        async fn facts(&self, messages: &[Uuid]) -> Result<Vec<Vec<ReceiptFact>>, StoreError>;
    }
}

mockall::mock! {
    pub DigestRepository {}
    #[async_trait]
    impl DigestRepository for DigestRepository {
        async fn close(&self, digests: &[DigestPlace]) -> Result<Vec<Vec<KeptItem>>, StoreError>;
    }
}
