//! `app_settings`: what is set for Forge as a whole.

use serde_json::Value;

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(app_settings() -> AppSettings, app_settings_mut() -> AppSettingsMut);

impl AppSettings<'_> {
    /// A value; none when nobody set it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, key: &str) -> Result<Option<Value>, StoreError> {
        let row = sqlx::query("SELECT value FROM app_settings WHERE key = ?1")
            .bind(key)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(|row| Columns(row).json("value")).transpose()
    }
}

impl AppSettingsMut<'_> {
    /// Sets a value.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, key: &str, value: &Value) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO app_settings (key, value) VALUES (?1, ?2)
             ON CONFLICT (key) DO UPDATE SET value = ?2",
        )
        .bind(key)
        .bind(json(value)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::empty;

    #[tokio::test]
    async fn value_is_replaced_and_others_are_left() {
        let mut tx = empty().await;
        assert_eq!(tx.app_settings().get("theme").await.unwrap(), None);
        for (key, value) in
            [("theme", json!("dark")), ("size", json!(3)), ("theme", json!({ "name": "light" }))]
        {
            tx.app_settings_mut().put(key, &value).await.unwrap();
        }
        assert_eq!(tx.app_settings().get("theme").await.unwrap(), Some(json!({ "name": "light" })));
        assert_eq!(tx.app_settings().get("size").await.unwrap(), Some(json!(3)));
    }
}
