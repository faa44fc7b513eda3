//! What an embedding endpoint has answered, if it can be believed. Pure.

use serde_json::Value;
use trunkline_search::Vector;

/// No embedding model makes longer vectors.
const WIDEST: usize = 16_384;

/// One vector for each of the `count` texts, in their order, all of one length; and that length.
pub(super) fn read(body: &[u8], count: usize) -> Result<(Vec<Vector>, usize), String> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| "its answer is no JSON".to_owned())?;
    let data = answer.get("data").and_then(Value::as_array);
    let data = data.ok_or_else(|| "its answer has no `data`".to_owned())?;
    if data.len() != count {
        return Err(format!("it sent {} vectors for {count} texts", data.len()));
    }
    let mut vectors: Vec<Option<Vector>> = vec![None; count];
    let mut width = None;
    for (place, item) in data.iter().enumerate() {
        // Those that say where they belong may come in any order.
        let at = match item.get("index") {
            Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
            None => Some(place),
        };
        let numbers = numbers(item).ok_or_else(|| "a vector of its is none".to_owned())?;
        if *width.get_or_insert(numbers.len()) != numbers.len() {
            return Err("its vectors have different lengths".to_owned());
        }
        let vector = Vector::new(&numbers).ok_or_else(|| "a vector of its is none".to_owned())?;
        let place = at.and_then(|at| vectors.get_mut(at)).filter(|place| place.is_none());
        *place.ok_or_else(|| "its vectors are numbered wrongly".to_owned())? = Some(vector);
    }
    Ok((vectors.into_iter().flatten().collect(), width.unwrap_or(0)))
}

fn numbers(item: &Value) -> Option<Vec<f32>> {
    let list = item.get("embedding")?.as_array()?;
    if list.is_empty() || list.len() > WIDEST {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "endpoints give numbers that were f32")]
    list.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_fits_is_believed() {
        let item = |index: &str, numbers: &str| {
            format!(r#"{{"object":"embedding"{index},"embedding":[{numbers}]}}"#)
        };
        let (first, second) = (item(r#","index":0"#, "1,0"), item(r#","index":1"#, "0,-2.5"));
        let body = |items: &[&str]| format!(r#"{{"data":[{}],"model":"m"}}"#, items.join(","));
        let got = |body: &str| {
            read(body.as_bytes(), 2).map(|(vectors, width)| {
                let numbers =
                    |vector: &Vector| vector.numbers().map(f32::round).collect::<Vec<_>>();
                (vectors.iter().map(numbers).collect::<Vec<_>>(), width)
            })
        };
        let expected = Ok((vec![vec![1.0, 0.0], vec![0.0, -1.0]], 2));
        assert_eq!(got(&body(&[&first, &second])), expected);
        assert_eq!(got(&body(&[&second, &first])), expected, "in any order");
        assert_eq!(got(&body(&[&item("", "1,0"), &item("", "0,-1")])), expected);
        for (body, why) in [
            ("<html>".to_owned(), "no JSON"),
            (r#"{"error":"x"}"#.to_owned(), "no `data`"),
            (body(&[&first]), "1 vectors for 2 texts"),
            (body(&[&first, &first]), "numbered wrongly"),
            (body(&[&first, &item(r#","index":7"#, "1,0")]), "numbered wrongly"),
            (body(&[&first, &item(r#","index":1"#, "1,0,0")]), "different lengths"),
            (body(&[&first, &item(r#","index":1"#, "")]), "is none"),
            (body(&[&first, &item(r#","index":1"#, "0,0")]), "is none"),
            (body(&[&first, &item(r#","index":1"#, "1,null")]), "is none"),
            (body(&[&first, &item(r#","index":1"#, "1e39,1")]), "is none"),
        ] {
            assert!(got(&body).unwrap_err().contains(why), "{body}");
        }
    }
}
