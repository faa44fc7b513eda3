//! Prints the tree with each file's door plate: the map can not be out of date.

use crate::source;

pub fn run() -> Result<(), String> {
    let mut folder = String::new();
    for file in source::all()? {
        let parent = file.path.parent().map(|p| p.display().to_string()).unwrap_or_default();
        if parent != folder {
            println!("{parent}/");
            folder = parent;
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        println!("  {name:<18} {}", file.plate().unwrap_or("(no plate)"));
    }
    Ok(())
}
