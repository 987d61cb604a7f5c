//! Whether the content of a database is whole.

use std::path::Path;

use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{Store, StoreError, connection};

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
        .execute(tx.sqlite())
        .await?;
        tx.commit().await
    }
}

/// What SQLite's own check finds wrong with a file; none when it is whole. `live`: somebody may have it open.
pub(crate) async fn quick_check(path: &Path, live: bool) -> Result<Option<String>, StoreError> {
    let options = if live {
        connection::options(path).read_only(true)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Has the next page of a value that fills several pages lead nowhere: whoever does not read that value sees nothing.
    async fn damage_a_page(folder: &Path) {
        let store = Store::open(folder).await.unwrap();
        store.probe(1).await.unwrap();
        let mut tx = store.write().await.unwrap();
        let filler = vec![b'F'; 64 * 1024];
        sqlx::query("UPDATE storage_probe SET filler = ?1").bind(filler).execute(tx.sqlite()).await.unwrap();
        tx.commit().await.unwrap();
        store.close().await;
        let file = folder.join(connection::DATABASE);
        let mut content = std::fs::read(&file).unwrap();
        let overflows = |page: &&mut [u8]| page[4..].iter().all(|byte| *byte == b'F');
        let page = content.chunks_exact_mut(4096).find(overflows).expect("no page holds the value");
        page[..4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
        std::fs::write(&file, content).unwrap();
    }

    #[tokio::test]
    async fn damage_that_only_the_check_finds_stops_writes() {
        let folder = tempfile::tempdir().unwrap();
        damage_a_page(folder.path()).await;
        let store = Store::open(folder.path()).await.expect("nothing but the check reads that page");
        store.read().await.unwrap().tasks().list(&crate::table::tasks::Filter::default(), 10).await.unwrap();
        let found = store.check().await.unwrap();
        assert!(found.is_some(), "the check found nothing");
        let error = store.probe(2).await.unwrap_err();
        assert_eq!(error.trouble(), Some(forge_model::storage::StorageTrouble::Damaged), "{error}");
        let copy = store.back_up(forge_model::storage::BackupReason::Daily).await;
        assert!(copy.is_err(), "a damaged database was copied");
    }
}
