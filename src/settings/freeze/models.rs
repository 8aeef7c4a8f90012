//! How to reach each model of a family, and what is known of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kinfolk_actors::family::ModelEndpoint;
use kinfolk_actors::profile::ModelProfile;

use super::{Host, Overrides};
use crate::settings::error::{SettingsError, Told};
use crate::settings::family_file::{FamilyFile, ModelTable};

/// Every model that is used, checked, with its profile as it is now. The lead's comes first in
/// `used`.
pub(super) fn endpoints(
    file: &FamilyFile,
    overrides: &Overrides,
    used: &[Told<Arc<str>>],
    host: &Host<'_>,
) -> Result<BTreeMap<String, ModelEndpoint>, SettingsError> {
    let mut of_file: HashMap<Arc<str>, &ModelTable> = HashMap::new();
    for table in &file.models {
        of_file.entry(file.model_of_file(&table.name).value).or_insert(table);
    }
    let mut endpoints = BTreeMap::new();
    for (n, model) in used.iter().enumerate() {
        let name = model.value.to_string();
        if endpoints.contains_key(&name) {
            continue;
        }
        let mut endpoint = endpoint(&name, of_file.get(&model.value).copied())?;
        if n == 0 {
            let said = |told: &Option<Told<String>>| told.as_ref().map(|told| told.value.clone());
            endpoint.base_url = said(&overrides.base_url).or(endpoint.base_url);
            endpoint.api_key_env = said(&overrides.api_key_env).or(endpoint.api_key_env);
        }
        (host.check_model)(&name, &endpoint).map_err(|problem| model.error(problem))?;
        endpoints.insert(name, endpoint);
    }
    Ok(endpoints)
}

fn endpoint(name: &str, table: Option<&ModelTable>) -> Result<ModelEndpoint, SettingsError> {
    let known = ModelProfile::of(name);
    let Some(table) = table else {
        return Ok(ModelEndpoint { base_url: None, api_key_env: None, profile: known });
    };
    let profile = table.profile.over(known);
    Ok(ModelEndpoint {
        base_url: table.base_url.clone(),
        api_key_env: table.api_key_env.clone(),
        profile: profile.map_err(|problem| table.name.error(problem.to_string()))?,
    })
}
