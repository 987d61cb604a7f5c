//! The handles of a table: the only way to its rows.

/// Declares the handles of a table. The first reads and is made by any connection; the second writes and is made by a
/// writing transaction alone, so that a function that takes a [`ReadConnection`](crate::ReadConnection) cannot write.
macro_rules! handles {
    ($read:ident() -> $Read:ident $(, $write:ident() -> $Write:ident)?) => {
        #[doc = concat!("Reads `", stringify!($read), "`.")]
        pub struct $Read<'c> {
            conn: &'c mut sqlx::SqliteConnection,
        }

        impl crate::ReadConnection {
            #[doc = concat!("Reads `", stringify!($read), "`.")]
            pub fn $read(&mut self) -> $Read<'_> {
                $Read { conn: self.sqlite() }
            }
        }

        $(
            #[doc = concat!("Writes `", stringify!($read), "`.")]
            pub struct $Write<'t> {
                tx: &'t mut crate::Tx,
            }

            impl crate::Tx {
                #[doc = concat!("Writes `", stringify!($read), "`.")]
                pub fn $write(&mut self) -> $Write<'_> {
                    $Write { tx: self }
                }
            }
        )?
    };
}
