use claimstream_ports::StoreError;
use uuid::Uuid;

/// Reads something for each attempt of a batch: by one call for all of them, or one by one if that call fails, so that one that
/// cannot be read is no business of the others.
///
/// While the store is away, all attempts are given back by `give_back` and none is answered.
pub(super) async fn read_each<A, T, F>(
    attempts: Vec<A>,
    id: impl Fn(&A) -> Uuid,
    read: impl Fn(Vec<Uuid>) -> F,
    give_back: impl Fn(&A, &StoreError),
) -> Vec<(A, Result<Option<T>, StoreError>)>
where
    F: Future<Output = Result<Vec<Option<T>>, StoreError>>,
{
    match read(attempts.iter().map(&id).collect()).await {
        Ok(all) => attempts.into_iter().zip(all.into_iter().map(Ok)).collect(),
        Err(error) if error.is_about_the_store() => {
            attempts.iter().for_each(|attempt| give_back(attempt, &error));
            Vec::new()
        }
        Err(error) if attempts.len() == 1 => attempts.into_iter().zip([Err(error)]).collect(),
        Err(_) => {
            let mut answers = Vec::new();
            for attempt in attempts {
                let answer = read(vec![id(&attempt)]).await;
                answers.push((attempt, answer.map(|all| all.into_iter().next().flatten())));
            }
            answers
        }
    }
}
