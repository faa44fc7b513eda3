//! Decides which parts of a result go into files, and under which names.

use std::path::{Path, PathBuf};

use super::content::{Part, text_of};

/// A file to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SavedFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) mime: String,
}

/// The data of a result as files (`out.png`, `out-2.png`, …); its text where there is no data.
/// What is left is for the screen. No files: there was neither.
pub(crate) fn written(parts: Vec<Part>, output: &Path) -> (Vec<SavedFile>, Vec<Part>) {
    let is_data = |part: &Part| matches!(part, Part::Data { bytes: Some(_), .. });
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    if !parts.iter().any(|part| is_data(part) || is_text(part)) {
        return (Vec::new(), parts);
    }
    if !parts.iter().any(is_data) {
        let bytes = exact_text(&parts);
        let mime = "text".to_owned();
        return (vec![SavedFile { path: output.to_owned(), bytes, mime }], Vec::new());
    }
    let mut files = Vec::new();
    let mut rest = Vec::new();
    for part in parts {
        match part {
            Part::Data { bytes: Some(bytes), mime, .. } => {
                files.push(SavedFile { path: numbered(output, files.len() + 1), bytes, mime });
            }
            other => rest.push(other),
        }
    }
    (files, rest)
}

/// One text stays as it is, to the byte.
fn exact_text(parts: &[Part]) -> Vec<u8> {
    match parts {
        [Part::Text(text)] => text.clone().into_bytes(),
        several => text_of(several).into_bytes(),
    }
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(bytes: &[u8]) -> Part {
        let (what, mime) = ("image".to_owned(), "image/png".to_owned());
        Part::Data { what, mime, bytes: Some(bytes.to_vec()) }
    }

    fn paths(parts: Vec<Part>) -> Vec<String> {
        let (files, _) = written(parts, Path::new("d/out.png"));
        files.iter().map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn each_piece_of_data_is_a_file() {
        let parts = vec![data(b"1"), Part::Text("t".to_owned()), data(b"2"), data(b"3")];
        assert_eq!(paths(parts.clone()), ["d/out.png", "d/out-2.png", "d/out-3.png"]);
        let (files, rest) = written(parts, Path::new("out"));
        assert_eq!(files.last().unwrap().path, Path::new("out-3"));
        assert_eq!(rest, [Part::Text("t".to_owned())]);
    }

    #[test]
    fn text_is_written_where_there_is_no_data() {
        let (files, rest) = written(vec![Part::Text("no newline".to_owned())], Path::new("f"));
        assert_eq!((files.len(), rest.len()), (1, 0));
        assert_eq!(files.first().unwrap().bytes, b"no newline");
    }

    #[test]
    fn nothing_is_written_of_nothing() {
        let broken = Part::Data { what: String::new(), mime: String::new(), bytes: None };
        for parts in [vec![], vec![broken], vec![Part::Line("{}".to_owned())]] {
            assert_eq!(written(parts.clone(), Path::new("f")), (Vec::new(), parts));
        }
    }
}
