use claimstream_ports::StoreError;

/// The answers to the entries of one call, of which `trouble` has left some `unknown`; an error if it has left all of them so.
pub(crate) fn as_far_as_known<A: PartialEq>(
    answers: Vec<A>,
    unknown: &A,
    trouble: Option<StoreError>,
) -> Result<Vec<A>, StoreError> {
    let Some(error) = trouble else { return Ok(answers) };
    let left = answers.iter().filter(|answer| *answer == unknown).count();
    if left == answers.len() {
        return Err(error);
    }
    tracing::warn!(operation = error.operation(), unknown = left, of = answers.len(), %error, "the store answered a call in part; the unknown entries are asked again");
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use claimstream_ports::StoreErrorKind;

    use super::*;

    #[test]
    fn an_error_is_answered_if_nothing_is_known() {
        let trouble = || Some(StoreError::new(StoreErrorKind::Transient, "test", "locked"));
        assert_eq!(as_far_as_known(vec![1, 0], &0, trouble()).unwrap(), [1, 0]);
        assert_eq!(as_far_as_known(vec![1, 1], &0, None).unwrap(), [1, 1]);
        let error = as_far_as_known(vec![0, 0], &0, trouble()).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Transient);
    }
}
