use crate::{Failure, contender::Own, handwritten, job::Job, library, parent};

/// The life of an instance: get ready, say so, wait for the word, work, report.
pub(crate) async fn run(job: &str) -> Result<(), Failure> {
    let job: Job = serde_json::from_str(job)?;
    let own = Own::named(&job.contender)?;
    let work = match own.is_library() {
        true => library::work(&job, own).await?,
        false => handwritten::work(&job, own).await?,
    };
    parent::report(&work)
}
