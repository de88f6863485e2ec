use std::{fmt, str::FromStr, sync::LazyLock};

use super::{judgement::Judgement, provider_answer::ProviderAnswer, row::AnswerRow};
use crate::Invalid;

/// Says what answers of providers mean: the first row that fits counts.
///
/// A row is `CONDITION = MEANING`. The condition names stages of SMTP (`rcpt`), codes (`550`, `5xx`), what stands with a code (`550:5.1.1`: the
/// enhanced status of SMTP, or a value of a JSON body), and phrases of which the text holds one (`~not verified|sending limit`). Rows are separated
/// by commas or ends of lines. The meaning is the [name](Judgement::name) of a [`Judgement`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnswerTable(Vec<AnswerRow>);

impl AnswerTable {
    /// What replies of SMTP servers mean.
    pub fn smtp() -> &'static Self {
        static TABLE: LazyLock<AnswerTable> = LazyLock::new(|| AnswerTable::of(include_str!("smtp.txt")));
        &TABLE
    }

    /// What statuses of a gateway mean.
    pub fn gateway() -> &'static Self {
        static TABLE: LazyLock<AnswerTable> = LazyLock::new(|| AnswerTable::of(include_str!("gateway.txt")));
        &TABLE
    }

    /// What statuses of one webhook to which all messages are posted mean.
    pub fn webhook() -> &'static Self {
        static TABLE: LazyLock<AnswerTable> = LazyLock::new(|| AnswerTable::of(include_str!("webhook.txt")));
        &TABLE
    }

    /// What statuses of recipients' own webhooks mean.
    pub fn own_webhook() -> &'static Self {
        static TABLE: LazyLock<AnswerTable> =
            LazyLock::new(|| AnswerTable::of(include_str!("own_webhook.txt")));
        &TABLE
    }

    /// What statuses of a participant of TCC transactions mean.
    pub fn participant() -> &'static Self {
        static TABLE: LazyLock<AnswerTable> =
            LazyLock::new(|| AnswerTable::of(include_str!("participant.txt")));
        &TABLE
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[AnswerRow] {
        &self.0
    }

    /// What an answer means, if a row is about it.
    pub fn judge(&self, answer: &ProviderAnswer<'_>) -> Option<Judgement> {
        self.0.iter().find_map(|row| row.judge(answer))
    }

    /// What an answer means by these rows, else by those of `usual`. An answer that no row is about is a failure of the provider.
    pub fn judge_or(&self, usual: &Self, answer: &ProviderAnswer<'_>) -> Judgement {
        self.judge(answer).or_else(|| usual.judge(answer)).unwrap_or(Judgement::ServiceFailed)
    }

    /// Whether the body of an answer with this status has to be read.
    pub fn reads_body(&self, status: u16) -> bool {
        self.0.iter().any(|row| row.reads_body(status))
    }

    /// A table of this crate; each is read by a test.
    fn of(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }
}

impl fmt::Display for AnswerTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<String> = self.0.iter().map(AnswerRow::to_string).collect();
        f.write_str(&rows.join(", "))
    }
}

impl FromStr for AnswerTable {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let rows = text.split([',', '\n']).map(str::trim).filter(|row| !row.is_empty());
        rows.map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::notification::{Acceptance, Fault, SmtpStage, consent::Suppression};

    fn smtp(stage: SmtpStage, reply: &str) -> Judgement {
        let (code, text) = reply.split_once(' ').unwrap();
        let answer = ProviderAnswer::of_smtp(stage, code.parse().unwrap(), text);
        AnswerTable::smtp().judge(&answer).unwrap()
    }

    #[test]
    fn replies_are_judged_by_stage_code_enhanced_status_and_text() {
        use Judgement as J;
        use SmtpStage as S;
        const BOUNCED: Judgement = Judgement::AddressRefused(Suppression::Bounced);
        for (stage, reply, expected) in [
            (S::Session, "554 no service", J::ConfigurationRefused),
            (S::Session, "450 later", J::ServiceDown),
            (S::Session, "550 5.7.1 blocked using zen.spamhaus.org", J::ConfigurationRefused),
            (S::Login, "535 5.7.8 credentials invalid", J::ConfigurationRefused),
            (S::Login, "454 4.7.0 temporary authentication failure", J::ServiceDown),
            (S::Sender, "421 4.3.2 shutting down", J::ServiceDown),
            (S::Sender, "530 5.7.0 authentication required", J::ConfigurationRefused),
            (S::Sender, "550 5.7.1 SPF check failed", J::ConfigurationRefused),
            (S::Sender, "553 5.1.8 sender address rejected: domain not found", J::ConfigurationRefused),
            (S::Sender, "552 5.3.4 message size exceeds the limit", J::MessageRefused),
            (S::Sender, "451 4.3.0 try later", J::ServiceFailed),
            (S::Recipient, "550 5.1.1 user unknown", BOUNCED),
            (S::Recipient, "550 5.1.10 null MX", BOUNCED),
            (S::Recipient, "550 5.1.1 <a@b.example>: Sender address rejected", J::ConfigurationRefused),
            (S::Recipient, "550 5.1.0 address rejected", J::RecipientRefused),
            (S::Recipient, "501 5.1.3 bad recipient address syntax", J::RecipientRefused),
            (S::Recipient, "550 no such user here", J::RecipientRefused),
            (S::Recipient, "552 5.2.2 mailbox full", J::RecipientRefused),
            (S::Recipient, "550 5.4.1 recipient address rejected: access denied", J::RecipientRefused),
            (S::Recipient, "550 5.5.0 mailbox unavailable", J::RecipientRefused),
            (S::Recipient, "554 5.7.1 recipient address rejected: access denied", J::RecipientRefused),
            (S::Recipient, "550 5.7.133 sender not authenticated for group", J::RecipientRefused),
            (S::Recipient, "504 5.5.2 <shop>: Helo command rejected", J::ConfigurationRefused),
            (S::Recipient, "554 5.7.1 <a@b.example>: Relay access denied", J::ConfigurationRefused),
            (S::Recipient, "550 relaying denied", J::ConfigurationRefused),
            (
                S::Recipient,
                "553 sorry, that domain isn't in my list of allowed rcpthosts",
                J::ConfigurationRefused,
            ),
            (S::Recipient, "550 5.7.1 client host blocked", J::ConfigurationRefused),
            (S::Recipient, "450 4.2.0 greylisted", J::RecipientDeferred),
            (S::Data, "503 5.5.1 bad sequence", J::ConfigurationRefused),
            (S::Data, "554 no", J::ConfigurationRefused),
            (S::Data, "452 full", J::ServiceFailed),
            (S::End, "550 5.4.5 Daily user sending limit exceeded", J::ConfigurationRefused),
            (S::End, "554 Message rejected: Email address is not verified", J::ConfigurationRefused),
            (S::End, "550 5.7.1 rejected: SPF fail", J::ConfigurationRefused),
            (S::End, "550 5.7.26 unauthenticated mail", J::ConfigurationRefused),
            (S::End, "554 5.7.1 spam message rejected", J::MessageRefused),
            (S::End, "552 5.7.0 attachment blocked for security", J::MessageRefused),
            (S::End, "554 5.6.0 bad content", J::MessageRefused),
            (S::End, "554 transaction failed", J::MessageRefused),
            (S::End, "550 5.1.1 user unknown", BOUNCED),
            (S::End, "554 5.3.0 other system status", J::ServiceFailed),
            (S::End, "451 4.7.1 later", J::ServiceFailed),
            (S::End, "250 2.0.0 queued", J::Delivered),
        ] {
            assert_eq!(smtp(stage, reply), expected, "{stage}: {reply}");
        }
    }

    /// Guard: a gateway's plain 404 is a wrong path of ours | src/notification/answer/gateway.txt: no 404
    #[test]
    fn statuses_are_judged_by_whose_server_it_is() {
        use Judgement as J;
        let bounced = J::AddressRefused(Suppression::Bounced);
        for (status, gateway, webhook, own) in [
            (202, J::Delivered, J::Delivered, J::Delivered),
            (302, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (400, J::MessageRefused, J::RecipientDeferred, J::RecipientDeferred),
            (401, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (402, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (404, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (407, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (405, J::ConfigurationRefused, J::ConfigurationRefused, J::RecipientDeferred),
            (408, J::ServiceFailed, J::ServiceFailed, J::ServiceFailed),
            (410, J::MessageRefused, J::MessageRefused, bounced),
            (422, J::MessageRefused, J::RecipientDeferred, J::RecipientDeferred),
            (429, J::Throttled, J::Throttled, J::Throttled),
            (500, J::Unknown, J::Unknown, J::Unknown),
            (503, J::ServiceFailed, J::ServiceFailed, J::ServiceFailed),
        ] {
            let answer = ProviderAnswer::of_http(status);
            assert_eq!(AnswerTable::gateway().judge(&answer), Some(gateway), "gateway {status}");
            assert_eq!(AnswerTable::webhook().judge(&answer), Some(webhook), "webhook {status}");
            assert_eq!(AnswerTable::own_webhook().judge(&answer), Some(own), "own webhook {status}");
        }
    }

    #[test]
    fn a_row_of_the_settings_comes_before_the_usual_ones() {
        let own: AnswerTable =
            "400:21610 = unsubscribed, 400:21211=bounced\n2xx:0=delivered, 2xx = permanent, 554 ~not  Verified=deferred"
                .parse()
                .unwrap();
        let judge = |code, detail, text| {
            own.judge_or(AnswerTable::gateway(), &ProviderAnswer { stage: None, code, detail, text })
        };
        assert_eq!(judge(400, Some("21610"), ""), Judgement::AddressRefused(Suppression::Unsubscribed));
        assert_eq!(judge(400, Some("21211"), ""), Judgement::AddressRefused(Suppression::Bounced));
        assert_eq!(judge(400, Some("1"), ""), Judgement::MessageRefused);
        assert_eq!(judge(200, Some("0"), ""), Judgement::Delivered);
        assert_eq!(judge(200, Some("1"), ""), Judgement::MessageRefused);
        assert_eq!(judge(200, None, "<html>"), Judgement::MessageRefused);
        assert_eq!(judge(554, None, "address is NOT verified."), Judgement::RecipientDeferred);
        assert_eq!(judge(503, None, ""), Judgement::ServiceFailed);
        assert!(own.reads_body(400) && own.reads_body(204) && own.reads_body(554) && !own.reads_body(503));
        assert_eq!(own.to_string().parse(), Ok(own));
    }

    #[test]
    fn a_row_that_cannot_be_read_is_refused_with_the_right_form() {
        for text in [
            "409",
            "409=fine",
            "=delivered",
            "99=delivered",
            "600=delivered",
            "4x=delivered",
            "409:=delivered",
        ] {
            assert!(text.parse::<AnswerTable>().is_err(), "{text}");
        }
        for text in ["~ = delivered", "rcpt~a| = delivered", "boat 550 = delivered"] {
            assert!(text.parse::<AnswerTable>().is_err(), "{text}");
        }
        assert!("409".parse::<AnswerTable>().unwrap_err().to_string().contains("409 = delivered"));
    }

    #[test]
    fn the_tables_of_this_crate_are_read() {
        for (table, text) in [
            (AnswerTable::smtp(), include_str!("smtp.txt")),
            (AnswerTable::gateway(), include_str!("gateway.txt")),
            (AnswerTable::webhook(), include_str!("webhook.txt")),
            (AnswerTable::own_webhook(), include_str!("own_webhook.txt")),
            (AnswerTable::participant(), include_str!("participant.txt")),
        ] {
            assert_eq!(text.parse().as_ref(), Ok(table));
            assert_eq!(table.rows().len(), text.lines().count());
        }
    }

    proptest! {
        #[test]
        fn every_reply_has_a_meaning_and_a_refusal_was_not_accepted(
            stage in prop::sample::select(SmtpStage::ALL.to_vec()),
            code in 200_u16..600, subject in 0_u16..9, detail in 0_u16..40, text in ".{0,20}", enhanced: bool,
        ) {
            let status = format!("{}.{subject}.{detail} ", code / 100);
            let text = if enhanced { status + &text } else { text };
            let answer = ProviderAnswer::of_smtp(stage, code, &text);
            let judgement = AnswerTable::smtp().judge(&answer);
            prop_assert!(judgement.is_some());
            let judgement = judgement.unwrap_or(Judgement::Delivered);
            match code {
                200..400 => prop_assert!(judgement.answer().class != crate::notification::AnswerClass::Permanent),
                _ => prop_assert_eq!(judgement.answer().acceptance, Acceptance::NotAccepted),
            }
            // Before there is a recipient, nothing is the recipient's fault.
            if matches!(stage, SmtpStage::Session | SmtpStage::Login) && code >= 400 {
                prop_assert!(matches!(judgement.fault(), Some(Fault::Configuration | Fault::Service)));
            }
            if judgement.suppresses().is_some() {
                prop_assert!(matches!(stage, SmtpStage::Recipient | SmtpStage::End) && code >= 500);
            }
        }

        #[test]
        fn every_status_has_a_meaning(status in 200_u16..600) {
            let answer = ProviderAnswer::of_http(status);
            let (gateway, own) = (AnswerTable::gateway(), AnswerTable::own_webhook());
            for table in [gateway, AnswerTable::webhook(), own, AnswerTable::participant()] {
                prop_assert!(table.judge(&answer).is_some());
                prop_assert!(!table.reads_body(status));
            }
            let gateway = AnswerTable::gateway().judge(&answer).map(Judgement::answer);
            prop_assert_eq!(gateway, Some(crate::notification::Answer::of_http_status(status)));
            // Standard Webhooks: only 410 ends a message.
            let ends = AnswerTable::own_webhook().judge(&answer).map(Judgement::answer)
                == Some(crate::notification::Answer::REFUSED);
            prop_assert_eq!(ends, status == 410);
        }

        #[test]
        fn what_is_read_is_written_as_it_was(text in ".{0,40}") {
            if let Ok(table) = text.parse::<AnswerTable>() {
                prop_assert_eq!(table.to_string().parse(), Ok(table));
            }
        }
    }
}
