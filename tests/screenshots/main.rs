//! Pictures of every screen of the dashboard with something on it: `cargo xtask screenshots`.

mod house;
mod screens;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kit::browser::{Browser, Theme, Width};
use kit::room::Room;

use house::House;
use screens::{Screen, screens};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((place, wanted)) = arguments.split_first() else {
        eprintln!("usage: screenshots DIRECTORY [SCREEN]...");
        return ExitCode::FAILURE;
    };
    let place = PathBuf::from(place);
    if let Err(error) = std::fs::create_dir_all(&place) {
        eprintln!("{}: {error}", place.display());
        return ExitCode::FAILURE;
    }
    let room = Room::new();
    let house = House::furnish(&room);
    let browser = house.browser();
    let all = screens(&house);
    let is_wanted = |screen: &&Screen| {
        wanted.is_empty() || wanted.iter().any(|part| screen.name.contains(part.as_str()))
    };
    for screen in all.iter().filter(is_wanted) {
        for (dress, theme, width) in [
            ("light", Theme::Light, Width::Desk),
            ("dark", Theme::Dark, Width::Desk),
            ("phone", Theme::Light, Width::Phone),
        ] {
            browser.theme(theme);
            browser.width(width);
            take(&browser, screen, &place.join(format!("{}-{dress}.png", screen.name)));
        }
    }
    ExitCode::SUCCESS
}

fn take(browser: &Browser, screen: &Screen, place: &Path) {
    (screen.show)(browser);
    // What has the focus shows it, which a picture need not.
    browser.script("document.activeElement?.blur(); scrollTo(0, 0)", &[]);
    let picture = browser.picture();
    std::fs::write(place, &picture).expect("the directory can be written");
    println!("{}", place.display());
}
