//! SQLite persistence: one file per table, migrations, change log, backups.
