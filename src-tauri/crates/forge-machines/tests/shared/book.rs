//! What a test writes down of the jobs of a task, in order.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use forge_machines::{
    JobOver,
    job::{Allocation, JobRef, Ledger, Place},
};

/// What is written down.
#[derive(Debug, Default)]
pub struct Book(Mutex<Vec<Allocation>>);

impl Book {
    /// All of it.
    pub fn all(&self) -> Vec<Allocation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same, to be written on.
    pub fn ledger(self: &Arc<Self>) -> Arc<dyn Ledger> {
        Arc::clone(self) as Arc<dyn Ledger>
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Allocation)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.iter_mut().find(|it| it.id == id) {
            change(found);
        }
    }
}

#[async_trait]
impl Ledger for Book {
    async fn last(&self) -> io::Result<Option<Allocation>> {
        Ok(self.all().last().cloned())
    }

    async fn intend(&self) -> io::Result<Allocation> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Allocation::new(format!("t{}", all.len()));
        all.push(made.clone());
        Ok(made)
    }

    async fn addressed(&self, id: &str, server: &str) -> io::Result<()> {
        self.change(id, |it| it.server = Some(server.to_owned()));
        Ok(())
    }

    async fn submitted(&self, id: &str, job: &JobRef) -> io::Result<()> {
        self.change(id, |it| it.job = Some(job.clone()));
        Ok(())
    }

    async fn began(&self, id: &str, place: &Place) -> io::Result<()> {
        self.change(id, |it| it.place = Some(place.clone()));
        Ok(())
    }

    async fn over(&self, id: &str, over: &JobOver) -> io::Result<()> {
        self.change(id, |it| it.over = Some(over.clone()));
        Ok(())
    }
}
