//! How the choices of a session are shown: config options with their values, and the presets among them.
//!
//! Changes nothing; what is chosen is in `choices`.

use super::choices::Chosen;
use super::codex::Preset;
use super::models::Catalogue;
use super::rules::CollaborationMode;
use super::update::{ConfigOption, OptionCategory, OptionValue};

pub(super) const MODEL: &str = "model";
pub(super) const EFFORT: &str = "effort";
const MODE: &str = "mode";
pub(super) const SPEED: &str = "speed";
pub(super) const COLLABORATION: &str = "collaboration";
pub(super) const WAKE: &str = "wake";
/// Values of the collaboration mode.
const DEFAULT: &str = "default";
pub(super) const PLAN: &str = "plan";
pub(super) const ON: &str = "on";
const OFF: &str = "off";
/// Codex's name for no tier in particular.
pub(super) const STANDARD: &str = "default";
/// What the value of a permission profile begins with: a profile may have the name of a preset.
pub(super) const PROFILE: &str = "permissions:";
/// Value of the mode while approval and sandbox fit no preset.
const AS_CONFIGURED: &str = "custom";

impl Chosen {
    /// The complete list; every current value is one of the values.
    pub(crate) fn list(&self, models: &Catalogue) -> Vec<ConfigOption> {
        let mut options = vec![self.mode(), self.model(models)];
        options.extend(self.effort(models));
        options.extend(self.speed(models));
        options.extend([self.collaboration_option(), self.wake()]);
        options
    }

    fn wake(&self) -> ConfigOption {
        ConfigOption {
            id: WAKE,
            name: "When background work ends",
            description: Some(
                "Whether the agent goes on by itself when a command in the background has ended",
            ),
            category: None,
            current: if self.wake { ON } else { OFF }.to_owned(),
            values: vec![
                value(OFF, "Wait", "The agent hears of it with your next prompt, if you stopped it"),
                value(ON, "Wake the agent", "A turn starts that tells the agent what ended, and how"),
            ],
        }
    }

    fn collaboration_option(&self) -> ConfigOption {
        ConfigOption {
            id: COLLABORATION,
            name: "Collaboration",
            description: Some("How Codex works with you, from the next turn on"),
            category: None,
            current: match self.collaboration() {
                CollaborationMode::Default => DEFAULT,
                CollaborationMode::Plan => PLAN,
            }
            .to_owned(),
            values: vec![
                value(DEFAULT, "Default", "Does what you ask"),
                value(PLAN, "Plan", "Talks a plan over with you and changes nothing"),
            ],
        }
    }

    fn mode(&self) -> ConfigOption {
        let mut values: Vec<_> = Preset::ALL.iter().map(|preset| preset.value()).collect();
        values.extend(self.profiles.iter().map(|it| profile(&it.id, it.description.clone())));
        let current = match (&self.holds.profile, self.holds.preset) {
            (Some(id), _) => format!("{PROFILE}{id}"),
            (None, Some(preset)) => preset.id().to_owned(),
            (None, None) => AS_CONFIGURED.to_owned(),
        };
        if !values.iter().any(|value| value.value == current) {
            values.push(match &self.holds.profile {
                Some(id) => profile(id, None),
                None => OptionValue {
                    value: AS_CONFIGURED.to_owned(),
                    name: "As configured".to_owned(),
                    description: Some("Approval and sandbox from Codex's configuration".to_owned()),
                },
            });
        }
        ConfigOption {
            id: MODE,
            name: "Mode",
            description: Some("What Codex may do without asking, from the next turn on"),
            category: Some(OptionCategory::Mode),
            current,
            values,
        }
    }

    /// Only where the model can be had in more than one.
    fn speed(&self, models: &Catalogue) -> Option<ConfigOption> {
        let model = models.find(&self.holds.model).filter(|model| !model.tiers.is_empty())?;
        let of_model = || model.default_tier.clone().unwrap_or_else(|| STANDARD.to_owned());
        let current = self.holds.tier.clone().unwrap_or_else(of_model);
        let value = |id: &str, name: &str, description: &str| OptionValue {
            value: id.to_owned(),
            name: name.to_owned(),
            description: Some(description.to_owned()).filter(|text| !text.is_empty()),
        };
        let mut values = vec![value(STANDARD, "Standard", "The usual speed")];
        values.extend(model.tiers.iter().map(|it| value(&it.id, &it.name, &it.description)));
        if !values.iter().any(|value| value.value == current) {
            values.push(value(&current, &current, ""));
        }
        Some(ConfigOption {
            id: SPEED,
            name: "Speed",
            description: Some("How fast the model answers, from the next turn on; faster may cost more"),
            category: None,
            current,
            values,
        })
    }

    fn model(&self, models: &Catalogue) -> ConfigOption {
        let mut values: Vec<_> = models
            .offered()
            .map(|model| OptionValue {
                value: model.slug.clone(),
                name: model.name.clone(),
                description: Some(model.description.clone()).filter(|text| !text.is_empty()),
            })
            .collect();
        if !values.iter().any(|value| value.value == self.holds.model) {
            values.insert(
                0,
                OptionValue {
                    value: self.holds.model.clone(),
                    name: self.holds.model.clone(),
                    description: None,
                },
            );
        }
        ConfigOption {
            id: MODEL,
            name: "Model",
            description: None,
            category: Some(OptionCategory::Model),
            current: self.holds.model.clone(),
            values,
        }
    }

    fn effort(&self, models: &Catalogue) -> Option<ConfigOption> {
        let model = models.find(&self.holds.model);
        let current = self.holds.effort.clone().or_else(|| model?.default_effort.clone())?;
        let mut values: Vec<_> = model
            .into_iter()
            .flat_map(|model| &model.efforts)
            .map(|(value, description)| OptionValue {
                value: value.clone(),
                name: capitalised(value),
                description: Some(description.clone()).filter(|text| !text.is_empty()),
            })
            .collect();
        if !values.iter().any(|value| value.value == current) {
            values.insert(
                0,
                OptionValue { value: current.clone(), name: capitalised(&current), description: None },
            );
        }
        Some(ConfigOption {
            id: EFFORT,
            name: "Reasoning effort",
            description: None,
            category: Some(OptionCategory::ThoughtLevel),
            current,
            values,
        })
    }
}

impl Preset {
    /// All presets, the most careful first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Auto, Self::FullAccess];

    /// The id a client sees, also accepted from `INITIAL_AGENT_MODE`.
    pub fn id(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Auto => "auto",
            Self::FullAccess => "full-access",
        }
    }

    /// The preset with this id; the names of the other adapters work too.
    pub fn named(id: &str) -> Option<Self> {
        match id {
            "read-only" => Some(Self::ReadOnly),
            "auto" | "agent" | "workspace-write" => Some(Self::Auto),
            "full-access" | "agent-full-access" => Some(Self::FullAccess),
            _ => None,
        }
    }

    fn value(self) -> OptionValue {
        let (name, description) = match self {
            Self::ReadOnly => {
                ("Read only", "Reads files and answers; asks before it runs or changes anything else")
            }
            Self::Auto => {
                ("Auto", "Works inside the workspace; asks before it leaves it or uses the network")
            }
            Self::FullAccess => ("Full access", "No sandbox and no questions"),
        };
        OptionValue {
            value: self.id().to_owned(),
            name: name.to_owned(),
            description: Some(description.to_owned()),
        }
    }
}

fn value(value: &str, name: &str, description: &str) -> OptionValue {
    OptionValue { value: value.to_owned(), name: name.to_owned(), description: Some(description.to_owned()) }
}

fn profile(id: &str, description: Option<String>) -> OptionValue {
    OptionValue { value: format!("{PROFILE}{id}"), name: id.to_owned(), description }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
