//! The screens: each asks for what it shows, and says how it looks.

mod activity;
mod clients;
mod findings;
mod key_limits;
mod login;
mod overview;
mod policies;
mod policy;
mod policy_test;
mod record;
mod review;
mod server;
mod server_form;
mod servers;
mod settings;
pub(crate) mod sign_in;
pub(crate) mod single_sign_on;
mod skill;
mod skills;
mod state;
mod taxonomy;
mod time_range;
mod tool;
mod tools;

use crate::api_client::ApiError;
use crate::page::PageResult;
use crate::page_request::PageRequest;
use crate::routes::Screen;

/// What is asked for, for somebody who may.
#[expect(clippy::cognitive_complexity, reason = "a table: one line for each screen")]
pub(crate) async fn show(screen: Screen, request: &PageRequest<'_>) -> PageResult {
    match screen {
        Screen::Overview => overview::show(request).await,
        Screen::Servers => servers::show(request).await,
        Screen::NewServer => Ok(server_form::empty(request)),
        Screen::AddServer => server_form::add(request).await,
        Screen::Server => server::show(request).await,
        Screen::EditServer => server_form::filled(request).await,
        Screen::ChangeServer => server_form::change(request).await,
        Screen::ConnectServer => servers::connect(request).await,
        Screen::DisconnectServer => servers::disconnect(request).await,
        Screen::LoginServer => login::begin(request).await,
        Screen::LogoutServer => login::end(request).await,
        Screen::ConfirmRemoval => servers::confirm(request).await,
        Screen::RemoveServer => servers::remove(request).await,
        Screen::Tools => tools::show(request).await,
        Screen::Tool => tool::show(request).await,
        Screen::TryTool => tool::attempt(request).await,
        Screen::ChangeToolSkills => tool::change_skills(request).await,
        Screen::Skills => skills::show(request).await,
        Screen::AddSkill => skills::add(request).await,
        Screen::EditSkill => skill::show(request).await,
        Screen::ChangeSkill => skill::change(request).await,
        Screen::ConfirmSkillRemoval => skill::confirm(request).await,
        Screen::RemoveSkill => skill::remove(request).await,
        Screen::ApproveSkill => skills::decide(request, "approve").await,
        Screen::RejectSkill => skills::decide(request, "reject").await,
        Screen::Review => review::show(request).await,
        Screen::ApproveDefinition => review::decide(request, "approve").await,
        Screen::RejectDefinition => review::decide(request, "reject").await,
        Screen::Policies => policies::show(request).await,
        Screen::NewPolicy => Ok(policy::empty(request)),
        Screen::AddPolicy => policy::add(request).await,
        Screen::TestPolicies => Ok(policy_test::empty(request)),
        Screen::AskPolicies => policy_test::ask(request).await,
        Screen::Policy => policy::show(request).await,
        Screen::ChangePolicy => policy::change(request).await,
        Screen::ConfirmPolicyRemoval => policy::confirm(request).await,
        Screen::RemovePolicy => policy::remove(request).await,
        Screen::Activity => activity::show(request).await,
        Screen::Story => record::show(request).await,
        Screen::Clients => clients::show(request).await,
        Screen::CreateKey => clients::create(request).await,
        Screen::KeyLimits => key_limits::show(request).await,
        Screen::ChangeKeyLimits => key_limits::change(request).await,
        Screen::ConfirmRevocation => clients::confirm(request).await,
        Screen::RevokeKey => clients::revoke(request).await,
        Screen::Settings => settings::show(request).await,
        Screen::Export => settings::export(request).await,
        Screen::ApiPage => Ok(settings::api_page(request).await),
        Screen::SignOut => Ok(sign_in::out(request).await),
        Screen::Theme => Ok(settings::theme(request)),
        // Answered before anybody comes here.
        Screen::Asset
        | Screen::SignIn
        | Screen::SignInNow
        | Screen::BeginSingleSignOn
        | Screen::CameBackFromIssuer
        | Screen::Live => Err(ApiError::nothing_here()),
    }
}
