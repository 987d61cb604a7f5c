//! Whether the content of a database is whole.

use std::path::Path;

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{Store, StoreError, open};

/// How many bytes a probe writes, so that it needs pages of its own.
const PROBE_BYTES: u32 = 16 * 1024;

impl Store {
    /// Looks through the whole file for damage, beside whoever reads and writes. What it finds, if anything; from then
    /// on nothing is written any more.
    ///
    /// # Errors
    /// When the file cannot be read for another reason.
    pub async fn check(&self) -> Result<Option<String>, StoreError> {
        let found = quick_check(&self.path, true).await?;
        if let Some(detail) = &found {
            self.note_damage(detail);
        }
        Ok(found)
    }

    /// Writes nothing from now on: the content is damaged.
    pub fn note_damage(&self, detail: &str) {
        // The first finding is the one that counts.
        let _ = self.damage.set(detail.to_owned());
    }

    /// What is wrong with the content, if a check has found something.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// Writes something of no meaning, to see whether the disk takes it.
    ///
    /// # Errors
    /// When it does not.
    pub async fn probe(&self, now_ms: i64) -> Result<(), StoreError> {
        let mut tx = self.write().await?;
        sqlx::query(
            "INSERT INTO storage_probe (id, written_at, filler) VALUES (1, ?1, randomblob(?2))
             ON CONFLICT (id) DO UPDATE SET written_at = ?1, filler = excluded.filler",
        )
        .bind(now_ms)
        .bind(PROBE_BYTES)
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}

/// What SQLite's own check finds wrong with a file; none when it is whole. `live`: somebody may have it open.
pub(crate) async fn quick_check(path: &Path, live: bool) -> Result<Option<String>, StoreError> {
    let options = if live {
        open::options(path).read_only(true)
    } else {
        // A copy has no log beside it, and gets none by being looked at.
        SqliteConnectOptions::new().filename(path).read_only(true).immutable(true)
    };
    let checked = async {
        let mut connection = SqliteConnection::connect_with(&options).await?;
        let said: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await?;
        connection.close().await?;
        Ok::<_, sqlx::Error>(said)
    };
    match checked.await.map_err(StoreError::from) {
        Ok(said) if said == "ok" => Ok(None),
        Ok(said) => Ok(Some(said)),
        Err(error) if error.trouble() == Some(forge_model::storage::StorageTrouble::Damaged) => {
            Ok(Some(error.to_string()))
        }
        Err(error) => Err(error),
    }
}
