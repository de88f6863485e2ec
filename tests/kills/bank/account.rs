use claimstream_sea_orm::{SeaOrmOutbox, store_error};
use claimstream_steps::saga::{SagaId, StepFailure};
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbErr, Statement, Value};

use super::Failure;

/// An account and, without any key that would hide a repeat, what was booked on it.
const TABLES: [&str; 2] = [
    "CREATE TABLE bank_account (kind VARCHAR(20) NOT NULL, owner INTEGER NOT NULL, amount BIGINT NOT NULL, \
     PRIMARY KEY (kind, owner))",
    "CREATE TABLE bank_booking (saga VARCHAR(36) NOT NULL, step VARCHAR(20) NOT NULL, amount BIGINT NOT NULL)",
];

/// Makes the tables of one database.
pub(crate) async fn make_tables(db: &SeaOrmOutbox) -> Result<(), Failure> {
    for table in TABLES {
        db.connection().execute_unprepared(table).await?;
    }
    Ok(())
}

/// Opens an account.
pub(crate) async fn open(db: &SeaOrmOutbox, kind: &str, owner: u32, amount: i64) -> Result<(), Failure> {
    let sql = "INSERT INTO bank_account (kind, owner, amount) VALUES (?, ?, ?)";
    execute(db.connection(), sql, [kind.into(), owner.into(), amount.into()]).await?;
    Ok(())
}

/// Books an amount on an account in a step's own transaction; an account never goes below zero.
pub(crate) async fn book(
    tx: &DatabaseTransaction,
    saga: SagaId,
    step: &'static str,
    (kind, owner): (&'static str, u32),
    amount: i64,
) -> Result<(), StepFailure> {
    let sql = "UPDATE bank_account SET amount = amount + ? WHERE kind = ? AND owner = ? AND amount + ? >= 0";
    let values = [amount.into(), kind.into(), owner.into(), amount.into()];
    let booked = execute(tx, sql, values).await.map_err(|e| store_error("book", e))?;
    if booked == 0 && amount < 0 {
        return Err(StepFailure::business(format_args!("the {kind} of {owner} is too small")));
    }
    if booked == 0 {
        return Err(StepFailure::invariant(format_args!("{owner} has no account for {kind}")));
    }
    let sql = "INSERT INTO bank_booking (saga, step, amount) VALUES (?, ?, ?)";
    let values = [saga.to_string().into(), step.into(), amount.into()];
    execute(tx, sql, values).await.map_err(|e| store_error("book", e))?;
    Ok(())
}

/// How much of a kind of money there is in a database.
pub(crate) async fn sum(db: &SeaOrmOutbox, kind: &str) -> Result<i64, Failure> {
    let sql = "SELECT COALESCE(CAST(SUM(amount) AS SIGNED), 0) FROM bank_account WHERE kind = ?";
    number(db, sql, [kind.into()]).await
}

/// How many accounts are below zero.
pub(crate) async fn overdrawn(db: &SeaOrmOutbox) -> Result<i64, Failure> {
    number(db, "SELECT COUNT(*) FROM bank_account WHERE amount < 0", []).await
}

/// A number that a statement answers.
pub(crate) async fn number<const N: usize>(
    db: &SeaOrmOutbox,
    sql: &str,
    values: [Value; N],
) -> Result<i64, Failure> {
    let on = db.connection();
    let statement = Statement::from_sql_and_values(on.get_database_backend(), sql, values);
    let row = on.query_one_raw(statement).await?.ok_or("no answer")?;
    Ok(row.try_get_by_index(0)?)
}

async fn execute<const N: usize>(
    on: &impl ConnectionTrait,
    sql: &str,
    values: [Value; N],
) -> Result<u64, DbErr> {
    let statement = Statement::from_sql_and_values(on.get_database_backend(), sql, values);
    Ok(on.execute_raw(statement).await?.rows_affected())
}
