//! Config options of a session: mode, model, effort, speed, collaboration, wake.
//!
//! Shows what is chosen; Codex learns it with the next turn.

use super::codex::{Choices, Holds, Preset, Profile, ThreadOpened};
use super::failure::Failure;
use super::models::Catalogue;
use super::request::OptionInput;
use super::rules::{Collaboration, CollaborationMode, Rules};
use super::update::{ConfigOption, OptionCategory, OptionValue};

const MODEL: &str = "model";
const EFFORT: &str = "effort";
const MODE: &str = "mode";
const SPEED: &str = "speed";
const COLLABORATION: &str = "collaboration";
const WAKE: &str = "wake";
/// Values of the collaboration mode.
const DEFAULT: &str = "default";
const PLAN: &str = "plan";
const ON: &str = "on";
const OFF: &str = "off";
/// Codex's name for no tier in particular.
const STANDARD: &str = "default";
/// What the value of a permission profile begins with: a profile may have the name of a preset.
const PROFILE: &str = "permissions:";
/// Value of the mode while approval and sandbox fit no preset.
const AS_CONFIGURED: &str = "custom";

/// The choices of one session.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// What holds from the next turn on.
    holds: Holds,
    /// Profiles to choose from.
    profiles: Vec<Profile>,
    /// The model is woken when background work ends by itself (D14). Ours: Codex hears nothing of it.
    wake: bool,
    /// Chosen since the last turn began.
    fresh: Choices,
    /// The collaboration mode was chosen since.
    is_mode_fresh: bool,
}

impl Chosen {
    pub(crate) fn of(thread: &ThreadOpened) -> Self {
        let mut holds = thread.holds.clone();
        holds.collaboration.get_or_insert_default();
        Self { holds, profiles: Vec::new(), wake: false, fresh: Choices::default(), is_mode_fresh: false }
    }

    /// The thread was loaded again; what was chosen since the last turn still holds.
    pub(crate) fn renew(&mut self, thread: &ThreadOpened) {
        // One that says nothing, as a new one does, may not know the mode.
        let is_default = self.collaboration() == CollaborationMode::Default;
        self.is_mode_fresh |= thread.holds.collaboration.is_none() && !is_default;
        self.learn(&thread.holds);
    }

    /// Codex says what holds now; what was chosen since wins until it is told.
    /// Returns whether anything shown changed.
    pub(crate) fn learn(&mut self, told: &Holds) -> bool {
        if told.rules.is_some() {
            self.holds.rules.clone_from(&told.rules);
        }
        let before = self.holds.clone();
        if self.fresh.model.is_none() {
            self.holds.model.clone_from(&told.model);
        }
        if self.fresh.effort.is_none() {
            self.holds.effort.clone_from(&told.effort);
        }
        if self.fresh.tier.is_none() {
            self.holds.tier.clone_from(&told.tier);
        }
        if self.fresh.preset.is_none() && self.fresh.profile.is_none() {
            self.holds.preset = told.preset;
            self.holds.profile.clone_from(&told.profile);
        }
        if !self.is_mode_fresh {
            self.holds.collaboration = told.collaboration.or(self.holds.collaboration);
        }
        before != self.holds
    }

    /// These profiles can be chosen. Returns whether anything shown changed.
    pub(crate) fn offer(&mut self, profiles: Vec<Profile>) -> bool {
        let is_news = profiles != self.profiles;
        self.profiles = profiles;
        is_news
    }

    /// Chooses how Codex works together with the user.
    pub(crate) fn collaborate(&mut self, mode: CollaborationMode) {
        self.holds.collaboration = Some(mode);
        self.is_mode_fresh = true;
    }

    pub(crate) fn collaboration(&self) -> CollaborationMode {
        self.holds.collaboration.unwrap_or_default()
    }

    /// What Codex said of approval and sandbox last.
    pub(crate) fn rules(&self) -> Option<&Rules> {
        self.holds.rules.as_ref()
    }

    /// What a command that only reads runs under; `None`: as Codex is configured.
    pub(crate) fn preset(&self) -> Option<Preset> {
        // A profile allows what it allows, and nothing here needs more than this.
        self.holds.preset.or(self.holds.profile.is_some().then_some(Preset::ReadOnly))
    }

    /// Whether the end of background work starts a turn.
    pub(crate) fn wakes(&self) -> bool {
        self.wake
    }

    /// What the next turn has to be told; it is told once.
    pub(crate) fn take_fresh(&mut self) -> Choices {
        let mut fresh = std::mem::take(&mut self.fresh);
        if std::mem::take(&mut self.is_mode_fresh) {
            let (model, effort) = (self.holds.model.clone(), self.holds.effort.clone());
            fresh.collaboration = Some(Collaboration { mode: self.collaboration(), model, effort });
        }
        fresh
    }

    /// The turn was not started: its choices are still to be told.
    pub(crate) fn give_back(&mut self, choices: Choices) {
        self.fresh.model = self.fresh.model.take().or(choices.model);
        self.fresh.effort = self.fresh.effort.take().or(choices.effort);
        self.fresh.tier = self.fresh.tier.take().or(choices.tier);
        // One is in the place of the other.
        if self.fresh.preset.is_none() && self.fresh.profile.is_none() {
            (self.fresh.preset, self.fresh.profile) = (choices.preset, choices.profile);
        }
        self.is_mode_fresh |= choices.collaboration.is_some();
    }

    /// Chooses a value.
    ///
    /// # Errors
    /// `InvalidParams` for an unknown option, a value of the wrong type or none of its values;
    /// nothing changes then.
    pub(crate) fn set(&mut self, id: &str, value: &OptionInput, models: &Catalogue) -> Result<(), Failure> {
        let options = self.list(models);
        let Some(option) = options.iter().find(|option| option.id == id) else {
            let known: Vec<_> = options.iter().map(|option| option.id).collect();
            return Err(Failure::InvalidParams(format!(
                "unknown config option; this session has {}",
                known.join(", ")
            )));
        };
        let OptionInput::Id(value) = value else {
            return Err(Failure::InvalidParams(format!(
                "config option {id} takes a value id, not a boolean"
            )));
        };
        if !option.values.iter().any(|offered| offered.value == *value) {
            let offered: Vec<_> = option.values.iter().map(|offered| offered.value.as_str()).collect();
            return Err(Failure::InvalidParams(format!(
                "config option {id} takes one of {}",
                offered.join(", ")
            )));
        }
        match id {
            MODEL => self.choose_model(value, models),
            EFFORT => {
                self.holds.effort = Some(value.clone());
                self.fresh.effort = Some(value.clone());
            }
            COLLABORATION => self.collaborate(match value.as_str() {
                PLAN => CollaborationMode::Plan,
                _ => CollaborationMode::Default,
            }),
            SPEED => {
                self.holds.tier = Some(value.clone());
                self.fresh.tier = Some(value.clone());
            }
            WAKE => self.wake = value == ON,
            _ => self.choose_mode(value),
        }
        Ok(())
    }

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

    fn choose_model(&mut self, slug: &str, models: &Catalogue) {
        slug.clone_into(&mut self.holds.model);
        self.fresh.model = Some(slug.to_owned());
        let Some(model) = models.find(slug) else { return };
        let fits = |effort: &String| model.efforts.iter().any(|(value, _)| value == effort);
        if !self.holds.effort.as_ref().is_some_and(fits) {
            self.holds.effort.clone_from(&model.default_effort);
            self.fresh.effort.clone_from(&model.default_effort);
        }
        let is_had = |tier: &String| tier == STANDARD || model.tiers.iter().any(|it| it.id == *tier);
        if !self.holds.tier.as_ref().is_none_or(is_had) {
            self.holds.tier = Some(STANDARD.to_owned());
            self.fresh.tier.clone_from(&self.holds.tier);
        }
    }

    fn choose_mode(&mut self, value: &str) {
        let profile = value.strip_prefix(PROFILE).map(str::to_owned);
        let preset = if profile.is_some() { None } else { Preset::named(value) };
        (self.holds.preset, self.holds.profile) = (preset, profile.clone());
        (self.fresh.preset, self.fresh.profile) = (preset, profile);
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
