//! Freezes family files as a host with three built-in tools and two providers would.

use std::path::Path;

use kinfolk::settings::family_file::FamilyFile;
use kinfolk::settings::freeze::{Host, Overrides};
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{Family, ModelEndpoint, Offer, Placement, ToolSpec};

/// The tools of the host.
pub fn built_in() -> Vec<ToolSpec> {
    ["read_file", "workspace_tree", "search_workspace"]
        .map(|name| ToolSpec {
            name: name.into(),
            description: "reads".into(),
            schema: r#"{"type":"object"}"#.into(),
            effect: EffectClass::ReadOnly,
            placement: Placement::Runtime,
            offer: Offer::Always,
            cost: None,
        })
        .into()
}

/// Which models the host can call.
pub fn known_provider(model: &str, _: &ModelEndpoint) -> Result<(), String> {
    if model.starts_with("openai:") || model.starts_with("scripted:") {
        return Ok(());
    }
    Err(format!("`{model}` has no known provider; use openai: or scripted:"))
}

/// The family of a file's text, or the message that refuses it.
pub fn freeze(text: &str, overrides: &Overrides) -> Result<Family, String> {
    let tools = built_in();
    let host =
        Host { tools: &tools, check_model: &known_provider, current_dir: Path::new("/here") };
    FamilyFile::parse("f.toml", text, Path::new("/families"))
        .and_then(|file| file.freeze(overrides, Some("/work space".into()), &host))
        .map_err(|error| error.to_string())
}
