//! A script before a legacy client: requests of our own, while its call waits.

use futures_util::future::join_all;
use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::Peer;
use serde_json::Value;

use crate::questions::Question;
use crate::scripts::{Answers, Need, Script};

/// Asks everything, round by round. The error says why there is no answer.
pub(crate) async fn play(client: &Peer<RoleServer>, script: &Script) -> Result<Answers, String> {
    let mut answers = Answers::new();
    for questions in &script.rounds {
        answers = match script.need {
            Need::Every => every(client, questions).await?,
            Need::Any => any(client, questions).await?,
        };
    }
    Ok(answers)
}

/// All at once, so that whoever collects them can collect more than one.
async fn every(client: &Peer<RoleServer>, questions: &[Question]) -> Result<Answers, String> {
    let asked = join_all(questions.iter().map(|question| ask(client, question))).await;
    asked.into_iter().collect()
}

/// One after the other, until one is answered.
async fn any(client: &Peer<RoleServer>, questions: &[Question]) -> Result<Answers, String> {
    let mut why = "There was nothing to ask".to_owned();
    for question in questions {
        match ask(client, question).await {
            Ok(answer) => return Ok(Answers::from([answer])),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Sent as a custom request: the schemas arrive as they are written, and rmcp's own types are
/// deprecated for what later revisions no longer have.
async fn ask(client: &Peer<RoleServer>, question: &Question) -> Result<(String, Value), String> {
    let capability = question.capability();
    if !declared(client, capability) {
        return Err(format!("The client has no {capability}"));
    }
    let request = CustomRequest::new(question.method, question.params.clone());
    let request = ServerRequest::CustomRequest(request);
    let answer = client.send_request(request).await.map_err(|error| error.to_string())?;
    let answer = serde_json::to_value(&answer).map_err(|error| error.to_string())?;
    Ok((question.key.to_owned(), answer))
}

fn declared(client: &Peer<RoleServer>, capability: &str) -> bool {
    let info = client.peer_info();
    let capabilities = info.and_then(|info| serde_json::to_value(&info.capabilities).ok());
    capabilities.is_some_and(|capabilities| capabilities.get(capability).is_some())
}
