use std::{fmt, sync::Arc};

use claimstream_domain::{
    Reason, Timestamp,
    notification::{
        Channel, Recipient,
        consent::{Address, Category, Consent, ConsentRules, consent, preference_key},
    },
};
use claimstream_ports::{
    StoreError, StoreErrorKind,
    notification::{ConsentsRead, PreferenceRepository},
};

use super::{
    UnsubscribeLinks,
    fan_out_attempt::{FanOutAttempt, FanOutResult},
    question::Question,
    unwinding::unwinding,
};

/// Asks recipients' preferences before something is sent to them: once when a request is fanned out, and once more before each
/// delivery.
///
/// Both pipelines ask once for a batch. What is refused is recorded as skipped, with the reason; what has to wait for the end of the
/// recipient's quiet hours is due then.
#[derive(Clone)]
pub struct Consents {
    preferences: Arc<dyn PreferenceRepository>,
    rules: Arc<ConsentRules>,
    links: Option<Arc<UnsubscribeLinks>>,
}

impl Consents {
    /// Asks these preferences, by these rules.
    pub fn new(preferences: Arc<dyn PreferenceRepository>, rules: ConsentRules) -> Self {
        Self { preferences, rules: Arc::new(rules), links: None }
    }

    /// Writes an unsubscribe link into each message of a category that can be opted out of.
    pub fn with_links(self, links: UnsubscribeLinks) -> Self {
        Self { links: Some(Arc::new(links)), ..self }
    }

    /// Where a recipient can opt out of a category on a channel; `None` if it cannot or there are no links.
    pub(super) fn link(
        &self,
        recipient: &Recipient,
        channel: Channel,
        category: Option<&Category>,
    ) -> Option<String> {
        let (links, category) = (self.links.as_ref()?, category?);
        if self.rules.is_required(Some(category)) {
            return None;
        }
        let address = Address::new(channel, recipient.address(channel)?);
        Some(links.url(preference_key(&recipient.key, &address), channel, category.clone()))
    }

    /// The answers to questions, in order. All are read together; a panic of the repository is an error.
    pub(super) async fn ask(&self, questions: &[&Question]) -> Result<Vec<Consent>, StoreError> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        let others = questions.iter().flat_map(|question| &question.others);
        let recipients: Vec<String> = questions
            .iter()
            .map(|question| question.recipient.clone())
            .chain(others.clone().map(|(recipient, _)| recipient.clone()))
            .collect();
        let addresses: Vec<Address> = questions
            .iter()
            .map(|question| question.address.clone())
            .chain(others.map(|(_, address)| address.clone()))
            .collect();
        let read = match unwinding(self.preferences.consents(&recipients, &addresses)).await {
            Ok(read) => read?,
            Err(panicked) => return Err(unreadable(panicked.as_str())),
        };
        if read.preferences.len() != recipients.len() || read.suppressed.len() != addresses.len() {
            return Err(unreadable("the answers do not fit the questions"));
        }
        let read = joined(questions, read);
        let now = i64::try_from(read.since_1970.as_micros()).unwrap_or(i64::MAX);
        let now = Timestamp::from_micros(now).unwrap_or(Timestamp::MAX);
        let known = questions.iter().zip(&read.preferences).zip(read.suppressed);
        let answer = |((question, preferences), suppressed): ((&&Question, _), _)| {
            consent(question.asked(), preferences, suppressed, &self.rules, now)
        };
        Ok(known.map(answer).collect())
    }
}

/// What is known of each question, with what is kept under its other keys and spellings; a rule of the recipient's own decides.
fn joined(questions: &[&Question], mut read: ConsentsRead) -> ConsentsRead {
    let preferences = read.preferences.split_off(questions.len());
    let suppressed = read.suppressed.split_off(questions.len());
    let asked =
        questions.iter().enumerate().flat_map(|(at, question)| question.others.iter().map(move |_| at));
    for (at, (preferences, suppression)) in asked.zip(preferences.into_iter().zip(suppressed)) {
        let known = std::mem::take(&mut read.preferences[at]);
        read.preferences[at] = known.or(preferences);
        read.suppressed[at] = read.suppressed[at].max(suppression);
    }
    read
}

/// The steps of fan-outs whose recipients were asked, and those whose preferences cannot be read.
type AskedGroup<'a> = (Vec<FanOutResult<'a>>, Vec<(FanOutAttempt<'a>, Arc<StoreError>)>);

impl Consents {
    /// Asks the recipients of a group, once for all of them. One whose preferences cannot be read is no business of the others.
    pub(super) async fn ask_group<'a>(&self, group: Vec<FanOutResult<'a>>) -> AskedGroup<'a> {
        match self.ask(&questions(&group)).await {
            Ok(answers) => (heeding(group, answers), Vec::new()),
            Err(error) if group.len() > 1 && !error.is_about_the_store() => {
                let (mut asked, mut unasked) = (Vec::new(), Vec::new());
                for found in group {
                    match self.ask(&questions(std::slice::from_ref(&found))).await {
                        Ok(answers) => asked.extend(heeding(vec![found], answers)),
                        Err(error) => unasked.push((found.attempt, Arc::new(error))),
                    }
                }
                (asked, unasked)
            }
            Err(error) => {
                let error = Arc::new(error);
                let unasked = group.into_iter().map(|found| (found.attempt, Arc::clone(&error)));
                (Vec::new(), unasked.collect())
            }
        }
    }
}

/// What is to be asked before a group is noted.
fn questions<'g>(group: &'g [FanOutResult<'_>]) -> Vec<&'g Question> {
    group.iter().flat_map(|found| found.questions.iter().flatten()).collect()
}

/// The group after the answers to its questions, in order.
fn heeding<'a>(mut group: Vec<FanOutResult<'a>>, answers: Vec<Consent>) -> Vec<FanOutResult<'a>> {
    let mut answers = answers.into_iter();
    group.iter_mut().for_each(|found| found.heed(&mut answers));
    group
}

impl fmt::Debug for Consents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Consents");
        all.field("rules", &self.rules).field("links", &self.links).finish_non_exhaustive()
    }
}

fn unreadable(why: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, "read preferences", why.to_owned())
}

/// Why a message waits.
pub(super) fn quiet() -> Reason {
    Reason::new("the recipient's quiet hours")
}
