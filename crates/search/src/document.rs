//! A tool as it is looked for: its texts, and what each of them counts.

/// What a server says of itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Server<'a> {
    /// As people call it; often, but not always, its key.
    pub name: &'a str,
    pub description: &'a str,
}

/// What a server says of one of its tools.
#[derive(Debug, Clone, Default)]
pub struct Tool<'a> {
    pub name: &'a str,
    /// What clients call it, if that is something else: it is found by both.
    pub renamed: Option<&'a str>,
    pub description: &'a str,
    pub parameters: Vec<Parameter<'a>>,
    /// Where an embedding endpoint says that the tool points; the model's own word counts otherwise.
    pub vector: Option<crate::Vector>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub description: &'a str,
}

/// A tool with forty parameters is not about its parameters.
const MOST_PARAMETERS: usize = 12;

/// What is embedded: where the tool is, what it is called, what it does, what it takes.
#[must_use]
pub fn text(server: &Server<'_>, tool: &Tool<'_>) -> String {
    let mut text = format!("{} {}: {}", server.name, tool.name, tool.description);
    for parameter in tool.parameters.iter().take(MOST_PARAMETERS) {
        text.push(' ');
        text.push_str(parameter.name);
    }
    text
}

/// What a piece of [`told`] counts against one of [`text`].
pub(crate) const TOLD_SHARE: f32 = 0.5;

/// What is embedded besides, at less weight: what the parameters are for.
pub(crate) fn told(tool: &Tool<'_>) -> String {
    let parameters = tool.parameters.iter().take(MOST_PARAMETERS);
    parameters.map(|parameter| parameter.description).collect::<Vec<_>>().join(" ")
}

/// What a tool is classified by, besides: the server says more about its field than the tool does.
pub(crate) fn server_text(server: &Server<'_>) -> String {
    format!("{} {}", server.name, server.description)
}

/// Each text with its weight in tenths: whole numbers, so that sums do not depend on their order.
pub(crate) fn fields<'a>(server: &Server<'a>, tool: &Tool<'a>) -> Vec<(&'a str, u32)> {
    let mut fields =
        vec![(tool.name, 20), (tool.description, 10), (server.name, 10), (server.description, 3)];
    fields.extend(tool.renamed.map(|name| (name, 20)));
    for parameter in &tool.parameters {
        fields.push((parameter.name, 5));
        fields.push((parameter.description, 3));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_put_into_words_as_in_training() {
        let fixture: serde_json::Value =
            serde_json::from_str(include_str!("../data/fixture.json")).unwrap();
        let names: Vec<String> = (0..14).map(|at| format!("p{at}")).collect();
        let parameter = |name| Parameter { name, description: "about it" };
        let parameters = names.iter().map(|name| parameter(name)).collect();
        let (name, description) = ("createIssue", "Create an issue");
        let tool = Tool { name, description, parameters, ..Tool::default() };
        let server = Server { name: "github", description: "Code hosting" };
        assert_eq!(text(&server, &tool), fixture["said"]["tool"].as_str().unwrap());
        assert_eq!(told(&tool), ["about it"; MOST_PARAMETERS].join(" "));
        assert_eq!(server_text(&server), fixture["said"]["server"].as_str().unwrap());
    }
}
