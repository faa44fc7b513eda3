//! The screens: each asks for what it shows, and says how it looks.

mod activity;
mod clients;
mod login;
mod overview;
mod server;
mod server_form;
mod servers;
mod settings;
pub(crate) mod sign_in;
mod skill;
mod skills;
mod span;
mod state;
mod story;
mod taxonomy;
mod tool;
mod tools;

use crate::ask::Trouble;
use crate::page::Outcome;
use crate::routes::Screen;
use crate::visitor::Visitor;

/// What is asked for, for somebody who may.
#[expect(clippy::cognitive_complexity, reason = "a table: one line for each screen")]
pub(crate) async fn show(screen: Screen, visitor: &Visitor<'_>) -> Outcome {
    match screen {
        Screen::Overview => overview::show(visitor).await,
        Screen::Servers => servers::show(visitor).await,
        Screen::NewServer => Ok(server_form::empty(visitor)),
        Screen::AddServer => server_form::add(visitor).await,
        Screen::Server => server::show(visitor).await,
        Screen::EditServer => server_form::filled(visitor).await,
        Screen::ChangeServer => server_form::change(visitor).await,
        Screen::ConnectServer => servers::connect(visitor).await,
        Screen::DisconnectServer => servers::disconnect(visitor).await,
        Screen::LoginServer => login::begin(visitor).await,
        Screen::LogoutServer => login::end(visitor).await,
        Screen::ConfirmRemoval => servers::confirm(visitor).await,
        Screen::RemoveServer => servers::remove(visitor).await,
        Screen::Tools => tools::show(visitor).await,
        Screen::Tool => tool::show(visitor).await,
        Screen::TryTool => tool::attempt(visitor).await,
        Screen::ChangeToolSkills => tool::change_skills(visitor).await,
        Screen::Skills => skills::show(visitor).await,
        Screen::AddSkill => skills::add(visitor).await,
        Screen::EditSkill => skill::show(visitor).await,
        Screen::ChangeSkill => skill::change(visitor).await,
        Screen::ConfirmSkillRemoval => skill::confirm(visitor).await,
        Screen::RemoveSkill => skill::remove(visitor).await,
        Screen::ApproveSkill => skills::decide(visitor, "approve").await,
        Screen::RejectSkill => skills::decide(visitor, "reject").await,
        Screen::Activity => activity::show(visitor).await,
        Screen::Story => story::show(visitor).await,
        Screen::Clients => clients::show(visitor).await,
        Screen::CreateKey => clients::create(visitor).await,
        Screen::ConfirmRevocation => clients::confirm(visitor).await,
        Screen::RevokeKey => clients::revoke(visitor).await,
        Screen::Settings => settings::show(visitor).await,
        Screen::Export => settings::export(visitor).await,
        Screen::ApiPage => Ok(settings::api_page(visitor).await),
        Screen::SignOut => Ok(sign_in::out(visitor)),
        Screen::Theme => Ok(settings::theme(visitor)),
        // Answered before anybody comes here.
        Screen::Asset | Screen::SignIn | Screen::SignInNow | Screen::Live => {
            Err(Trouble::nothing_here())
        }
    }
}
