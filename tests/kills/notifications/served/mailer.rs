use std::{
    collections::{BTreeMap, HashMap},
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::http::StatusCode;
use claimstream_domain::notification::{Channel, ReceiptKind, consent::Address};
use tokio::{sync::Semaphore, time::timeout};
use uuid::Uuid;

use super::{
    mail_course::{Fate, MailCourse},
    provider_server::Call,
    receipt_calls::{Answered, Event, ReceiptCalls},
    sinks::Sinks,
};
use crate::sink::unix_micros;

/// The provider of mails: it takes each, and says later what became of it. Some addresses bounce.
pub(crate) struct Mailer {
    sinks: Arc<Sinks>,
    calls: ReceiptCalls,
    book: Mutex<Book>,
    /// Mails of which not everything is said yet.
    unfinished: AtomicUsize,
    at_once: Semaphore,
    /// How long after the suppression of an address a relay may still deliver what it had asked about before.
    in_flight: Duration,
}

/// What it has taken and said.
#[derive(Default)]
struct Book {
    mails: BTreeMap<Uuid, Mail>,
    /// When the first answer said that the bounce of an address is kept, in microseconds since 1970.
    suppressed_at: HashMap<Address, u64>,
    said: Said,
}

/// A mail that it has taken, and maybe again after a kill.
#[derive(Clone, Debug)]
pub(crate) struct Mail {
    pub(crate) message: Uuid,
    pub(crate) request: Uuid,
    pub(crate) address: Address,
    /// What it has said of it, or will.
    pub(crate) said: &'static [ReceiptKind],
}

/// What became of what it said.
#[derive(Clone, Default, Debug)]
pub(crate) struct Said {
    pub(crate) answered: Answered,
    /// Calls that no server has taken.
    pub(crate) not_taken: usize,
    /// Mails to an address that were delivered long after its bounce was kept.
    pub(crate) too_late: Vec<Uuid>,
}

impl Mailer {
    /// How many mails it speaks of at once.
    const AT_ONCE: usize = 16;
    /// How long its answer waits for what it says before.
    const EARLY: Duration = Duration::from_millis(300);

    pub(crate) fn new(sinks: Arc<Sinks>, calls: ReceiptCalls, in_flight: Duration) -> Self {
        let (book, unfinished) = (Mutex::default(), AtomicUsize::new(0));
        Self { sinks, calls, book, unfinished, at_once: Semaphore::new(Self::AT_ONCE), in_flight }
    }

    /// The secret of its receipts.
    pub(crate) fn secret(&self) -> String {
        self.calls.secret()
    }

    /// Takes a mail, and answers with its name for the delivery.
    pub(crate) async fn take(
        self: Arc<Self>,
        process: u32,
        call: Call,
    ) -> io::Result<Result<String, StatusCode>> {
        let sink = self.sinks.of(process)?;
        if sink.refusal(call.id, &call.address).is_some() {
            return Ok(Err(StatusCode::SERVICE_UNAVAILABLE));
        }
        sink.take(call.id, call.request_id)?;
        let reference = format!("mail-{}", Uuid::now_v7());
        let address = Address::new(Channel::Email, &call.address);
        let course = MailCourse::of(call.id, Fate::of(&address));
        let is_early = course.is_early;
        self.note(&call, &address, course.said);
        self.unfinished.fetch_add(1, Relaxed);
        let (mailer, named) = (Arc::clone(&self), reference.clone());
        // A task of its own, because the caller may be killed before it is answered.
        let saying = tokio::spawn(async move {
            mailer.say(&call, &address, &course, &named).await;
            mailer.unfinished.fetch_sub(1, Relaxed);
        });
        if is_early {
            // Not for long: a caller that gives up would ask again, and this provider does not know it by its id.
            let _ = timeout(Self::EARLY, saying).await;
        }
        Ok(Ok(reference))
    }

    fn note(&self, call: &Call, address: &Address, said: &'static [ReceiptKind]) {
        let (mut book, now) = (self.book(), unix_micros());
        let latest = book.suppressed_at.get(address).map(|at| at + self.in_flight.as_micros() as u64);
        if latest.is_some_and(|latest| now > latest) {
            book.said.too_late.push(call.id);
        }
        let mail = Mail { message: call.id, request: call.request_id, address: address.clone(), said };
        book.mails.insert(call.id, mail);
    }

    /// Says what became of a mail.
    async fn say(&self, call: &Call, address: &Address, course: &MailCourse, reference: &str) {
        let Ok(_turn) = self.at_once.acquire().await else { return };
        let event = |kind: &ReceiptKind| Event {
            event: ReceiptCalls::word(*kind),
            reference: (!course.names_our_id).then(|| reference.to_owned()),
            message: course.names_our_id.then_some(call.id),
            recipient: call.address.clone(),
            at: unix_micros().to_string(),
        };
        let size = if course.is_together { course.said.len() } else { 1 };
        for _ in 0..1 + usize::from(course.is_repeated) {
            for kinds in course.said.chunks(size) {
                let events: Vec<Event> = kinds.iter().map(event).collect();
                self.sent(address, kinds, self.calls.send(&events).await);
            }
        }
    }

    fn sent(&self, address: &Address, kinds: &[ReceiptKind], answered: Option<Answered>) {
        let mut book = self.book();
        let Some(answered) = answered else {
            book.said.not_taken += 1;
            return;
        };
        book.said.answered.add(answered);
        let is_kept = answered.new + answered.known == kinds.len();
        if is_kept && kinds.iter().any(|kind| kind.suppresses().is_some()) {
            book.suppressed_at.entry(address.clone()).or_insert_with(unix_micros);
        }
    }

    /// Whether everything is said of all mails that it has taken.
    pub(crate) fn has_said_all(&self) -> bool {
        self.unfinished.load(Relaxed) == 0
    }

    /// The mails that it has taken.
    pub(crate) fn mails(&self) -> Vec<Mail> {
        self.book().mails.values().cloned().collect()
    }

    /// What became of what it said.
    pub(crate) fn said(&self) -> Said {
        self.book().said.clone()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
