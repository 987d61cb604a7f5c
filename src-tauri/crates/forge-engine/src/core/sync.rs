//! Locking a mutex for a moment.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A poisoned lock only means that a thread died between two whole states; the maps stay usable.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
