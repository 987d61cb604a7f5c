//! Whether the engine of the window can be reached, as the page is told.

use std::time::UNIX_EPOCH;

use forge_remote::Contact;
use serde::Serialize;

/// Whether the engine can be reached, as the page is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ContactNews {
    /// It answers.
    Live,
    /// It does not.
    Unreachable {
        /// Since when, in milliseconds since 1970.
        since: u64,
        /// Why.
        message: String,
        /// What the person can do.
        remedy: String,
    },
}

impl ContactNews {
    /// What the page is told of a contact.
    pub fn of(contact: &Contact) -> Self {
        match contact {
            Contact::Live => Self::Live,
            Contact::Unreachable { since, fault } => {
                let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
                let since = u64::try_from(since).unwrap_or_default();
                Self::Unreachable { since, message: fault.to_string(), remedy: fault.remedy() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use forge_remote::RemoteFault;
    use serde_json::json;

    use super::*;

    #[test]
    fn page_is_told_since_when_and_what_to_do() {
        let said = "the connection ended".to_owned();
        let fault = RemoteFault::Lost { host: "far".to_owned(), said };
        let since: SystemTime = UNIX_EPOCH + Duration::from_millis(1500);
        let news = serde_json::to_value(ContactNews::of(&Contact::Unreachable { since, fault })).unwrap();
        assert_eq!((news["state"].as_str(), news["since"].as_u64()), (Some("unreachable"), Some(1500)));
        assert!(news["remedy"].as_str().unwrap().contains("tries again"), "{news}");
        assert_eq!(
            serde_json::to_value(ContactNews::of(&Contact::Live)).unwrap(),
            json!({ "state": "live" })
        );
    }
}
