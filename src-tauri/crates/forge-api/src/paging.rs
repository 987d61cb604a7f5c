//! Pages of lists. Some handlers read pages from the store and have `limit` and `cursor` in their own input. The others
//! return whole lists, and this module selects the page, so that all lists are read in the same way.
//!
//! The cursor of such a list is the number of items before the page. It is valid only for the list that returned it.

use serde_json::{Map, Value};

use crate::{ApiError, limits::limit, ops::Page};

/// The range of a list that a page covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageRange {
    skipped: u32,
    limit: u32,
}

impl PageRange {
    /// The range for a limit and a cursor.
    pub(crate) fn asked(count: Option<u32>, cursor: Option<&str>) -> Result<Self, ApiError> {
        let skipped = cursor.map_or(Ok(0), |cursor| {
            cursor.parse().map_err(|_| ApiError::invalid("cursor", "must be a `next_cursor` of this list"))
        })?;
        Ok(Self { skipped, limit: limit(count)? })
    }

    /// Removes `limit` and `cursor` from an input and returns their range; none if both are absent.
    fn taken_from(input: &mut Value) -> Result<Option<Self>, ApiError> {
        let Some(fields) = input.as_object_mut() else { return Ok(None) };
        let given = |value: Option<Value>| value.filter(|value| !value.is_null());
        let (count, cursor) = (given(fields.shift_remove("limit")), given(fields.shift_remove("cursor")));
        if count.is_none() && cursor.is_none() {
            return Ok(None);
        }
        let wrong = || ApiError::invalid("limit", "must be a whole number");
        let count = count.map(|count| serde_json::from_value(count).map_err(|_| wrong())).transpose()?;
        let cursor = match &cursor {
            None => None,
            Some(Value::String(cursor)) => Some(cursor.as_str()),
            Some(_) => return Err(ApiError::invalid("cursor", "must be a text")),
        };
        Self::asked(count, cursor).map(Some)
    }

    /// How many items must be read to know the part and whether there are more.
    pub(crate) const fn reach(self) -> u32 {
        self.skipped.saturating_add(self.limit).saturating_add(1)
    }

    /// The part of a list that was read as far as [`Self::reach`].
    pub(crate) fn of<T>(self, items: Vec<T>) -> Page<T> {
        let end = self.skipped.saturating_add(self.limit);
        let more = u32::try_from(items.len()).unwrap_or(u32::MAX) > end;
        let items = items.into_iter().skip(self.skipped as usize).take(self.limit as usize).collect();
        Page { items, next_cursor: more.then(|| end.to_string()) }
    }
}

/// The page to select from the answer.
#[derive(Debug)]
pub(crate) struct Paged(Option<PageRange>);

impl Paged {
    /// Takes what is asked about the page out of the input of such a list.
    pub(crate) fn asked(input: &mut Value) -> Result<Self, ApiError> {
        PageRange::taken_from(input).map(Self)
    }

    /// The page; the whole list when none was asked for.
    pub(crate) fn answer(self, mut whole: Value) -> Value {
        if let (Some(range), Some(fields)) = (self.0, whole.as_object_mut()) {
            take_page(range, fields);
        }
        whole
    }
}

fn take_page(range: PageRange, fields: &mut Map<String, Value>) {
    if let Some(Value::Array(items)) = fields.get_mut("items") {
        let page = range.of(std::mem::take(items));
        *items = page.items;
        fields.insert("next_cursor".to_owned(), page.next_cursor.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(mut input: Value) -> Result<(Value, Value), String> {
        let paged = Paged::asked(&mut input).map_err(|error| error.message)?;
        assert_eq!(input, json!({ "project_id": "p" }), "the handler knows nothing of pages");
        let page = paged.answer(json!({ "items": [1, 2, 3], "next_cursor": null, "more": true }));
        assert_eq!(page["more"], true, "what stands beside the items stays");
        Ok((page["items"].clone(), page["next_cursor"].clone()))
    }

    #[test]
    fn a_whole_list_is_cut_into_pages() {
        let asked = |more: Value| {
            let mut input = json!({ "project_id": "p" });
            input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            page(input)
        };
        let all = (json!([1, 2, 3]), Value::Null);
        assert_eq!(asked(json!({})), Ok(all.clone()));
        assert_eq!(asked(json!({ "limit": null, "cursor": null })), Ok(all.clone()));
        assert_eq!(asked(json!({ "limit": 3 })), Ok(all));
        assert_eq!(asked(json!({ "limit": 2 })), Ok((json!([1, 2]), json!("2"))));
        assert_eq!(asked(json!({ "limit": 2, "cursor": "2" })), Ok((json!([3]), Value::Null)));
        assert_eq!(asked(json!({ "cursor": "9" })), Ok((json!([]), Value::Null)));
        for wrong in [json!({ "limit": 0 }), json!({ "limit": 201 }), json!({ "limit": "2" })] {
            assert!(asked(wrong).unwrap_err().starts_with("limit: "));
        }
        for wrong in [json!({ "cursor": "x" }), json!({ "cursor": "-1" }), json!({ "cursor": 2 })] {
            assert!(asked(wrong).unwrap_err().starts_with("cursor: "));
        }
    }
}
