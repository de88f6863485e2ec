use crate::{
    database::{
        nodes::{choice::Answer, survey::Surveyed},
        topology::role::Role,
    },
    doctor::{
        examination::Examination,
        finding::{Finding, good, warning},
    },
};

const CHECK: &str = "servers";

impl Examination<'_> {
    /// Where each server of a URL stands that names several; nothing about a URL that names one.
    pub(super) async fn examine_servers(&self) -> Vec<Finding> {
        match &self.db.health.nodes {
            Some(nodes) => findings(&nodes.survey().await),
            None => Vec::new(),
        }
    }
}

/// What becomes of a failover with these servers.
fn findings(servers: &[Surveyed]) -> Vec<Finding> {
    let Some(writer) = servers.iter().find(|server| server.is_written_to) else { return Vec::new() };
    let others = servers.iter().filter(|server| !server.is_written_to);
    [of_writer(writer)].into_iter().chain(others.map(|other| of_other(other, writer))).collect()
}

fn of_writer(Surveyed { name, answer, .. }: &Surveyed) -> Finding {
    match answer {
        Answer::Says(Role::Writes(_)) => good(CHECK, format!("{name} takes writes, and is written to")),
        lost => warning(
            CHECK,
            format!(
                "{name} was written to and does not take writes now: {lost}; the outbox looks for a server that does, and writes nothing until \
                 one is found"
            ),
        ),
    }
}

fn of_other(Surveyed { name, answer, .. }: &Surveyed, writer: &Surveyed) -> Finding {
    match answer {
        Answer::Says(Role::Refuses(why)) => {
            good(CHECK, format!("{name} takes no writes ({why}); the outbox writes to it once it does"))
        }
        says @ Answer::Says(Role::Writes(_)) if *says == writer.answer => {
            good(CHECK, format!("{name} takes writes too, and has the data of {}", writer.name))
        }
        Answer::Says(Role::Writes(_)) => warning(
            CHECK,
            format!(
                "{name} takes writes too and does not have the data of {}, which is written to: a failover to it loses what it lacks. Run SET \
                 GLOBAL read_only = ON there and set it in its configuration file, or take it out of the database URL",
                writer.name
            ),
        ),
        Answer::Awaited | Answer::Failed(_) | Answer::Refused(_) => warning(
            CHECK,
            format!(
                "{name} was not reached: {answer}; if {} fails, the outbox cannot write to it instead. Start that server and let this machine \
                 reach it, or correct its address in the database URL",
                writer.name
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    //! Promise: `doctor` names every address that it could not reach, and says what to do about several
    //! servers that take writes
    use claimstream_domain::Severity;

    use super::*;
    use crate::database::topology::place::Place;

    fn writes(id: &str) -> Answer {
        let settings = [("server_id".to_owned(), id.to_owned())].into();
        Answer::Says(Place { settings, ..Place::default() }.role())
    }

    fn found(writer: Answer, other: Answer) -> Vec<(Severity, String)> {
        let server =
            |name: &str, is_written_to, answer| Surveyed { name: name.into(), is_written_to, answer };
        let found = findings(&[server("db1:3306", true, writer), server("db2:3306", false, other)]);
        found.into_iter().map(|finding| (finding.severity, finding.detail)).collect()
    }

    #[test]
    fn every_address_that_was_not_reached_is_named_with_what_that_means() {
        for answer in [
            Answer::Refused("Connection refused (os error 111)".into()),
            Answer::Failed("no answer within 1s".into()),
        ] {
            let said = answer.to_string();
            let found = found(writes("1"), answer);
            assert_eq!(found[0], (Severity::Good, "db1:3306 takes writes, and is written to".into()));
            let (severity, detail) = &found[1];
            assert_eq!(*severity, Severity::Warning);
            assert!(
                detail.starts_with(&format!("db2:3306 was not reached: {said}; if db1:3306 fails")),
                "{detail}"
            );
        }
    }

    #[test]
    fn a_server_that_takes_writes_by_mistake_is_named_and_one_of_the_same_cluster_is_not_amiss() {
        let (severity, detail) = &found(writes("1"), writes("2"))[1];
        assert_eq!(*severity, Severity::Warning);
        assert!(
            detail.contains("SET GLOBAL read_only = ON there") && detail.starts_with("db2:3306"),
            "{detail}"
        );
        let follows = Answer::Says(Role::Refuses("read_only = ON".into()));
        for good in [writes("1"), follows.clone()] {
            assert_eq!(found(writes("1"), good)[1].0, Severity::Good);
        }
        let lost = &found(follows, writes("1"))[0];
        assert!(lost.0 == Severity::Warning && lost.1.contains("read_only = ON"), "{lost:?}");
    }
}
