//! Reading JSON text strictly: a syntax error names line and column, and a key that is written twice is
//! found instead of the last one silently winning.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::shape::{Finding, key_path};

/// Reads JSON text.
///
/// # Errors
/// The syntax error with its line and column, or every key that is written twice.
pub fn parse_json(text: &str) -> Result<Value, Vec<Finding>> {
    let mut twice = Vec::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Strict { path: String::new(), twice: &mut twice }
        .deserialize(&mut json)
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| vec![Finding::new("", format!("not JSON: {error}"))])?;
    if twice.is_empty() { Ok(value) } else { Err(twice) }
}

struct Strict<'a> {
    path: String,
    twice: &'a mut Vec<Finding>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict {
            path: format!("{}[{}]", self.path, list.len()),
            twice: &mut *self.twice,
        })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let path = key_path(&self.path, &key);
            if map.contains_key(&key) {
                self.twice.push(Finding::new(path.clone(), format!("duplicate key `{key}`")));
            }
            let value = access.next_value_seed(Strict { path, twice: &mut *self.twice })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_serde_json_reads() {
        for text in
            ["null", "[1, -2, 3.5, \"x\", true, {\"a\": {\"b\": []}}]", "18446744073709551615", "1e300"]
        {
            assert_eq!(parse_json(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn a_syntax_error_names_its_place() {
        for (text, place) in [
            ("{\n  \"name\": }", "line 2 column 11"),
            ("{} x", "line 1 column 4"),
            ("", "line 1 column 0"),
            ("[1,\n2,\n", "line 3 column 0"),
        ] {
            let findings = parse_json(text).unwrap_err();
            assert_eq!(findings[0].path, "");
            assert!(findings[0].message.contains(place), "{text:?}: {findings:?}");
        }
    }

    #[test]
    fn every_key_that_is_written_twice_is_found() {
        let findings =
            parse_json(r#"{"a": 1, "a": 2, "b": [{}, {"c d": 1, "c d": 1, "e": {"f": 0, "f": 0}}]}"#)
                .unwrap_err();
        let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(paths, ["a", "b[1][\"c d\"]", "b[1].e.f"]);
    }

    #[test]
    fn depth_is_limited() {
        let text = "[".repeat(100_000);
        assert!(parse_json(&text).unwrap_err()[0].message.contains("recursion"));
    }
}
