//! What is chosen for a session: mode, model, effort, speed, collaboration, wake.
//!
//! Codex learns it with the next turn. How it is shown is in `options`.

use super::codex::{Choices, Holds, Preset, Profile, ThreadOpened};
use super::failure::Failure;
use super::models::Catalogue;
use super::options::{COLLABORATION, EFFORT, MODEL, ON, PLAN, PROFILE, SPEED, STANDARD, WAKE};
use super::request::OptionInput;
use super::rules::{Collaboration, CollaborationMode, Rules};
use super::update::OptionValue;

/// The choices of one session.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// What holds from the next turn on.
    pub(super) holds: Holds,
    /// Profiles to choose from.
    pub(super) profiles: Vec<Profile>,
    /// The model is woken when background work ends by itself (D14). Ours: Codex hears nothing of it.
    pub(super) wake: bool,
    /// Chosen since the last turn began.
    fresh: Choices,
    /// The collaboration mode was chosen since.
    is_mode_fresh: bool,
    /// Told before a turn that Codex begins. Until it says that this holds, what it says of it is from before.
    told: Choices,
}

impl Chosen {
    pub(crate) fn of(thread: &ThreadOpened) -> Self {
        let mut holds = thread.holds.clone();
        holds.collaboration.get_or_insert_default();
        let (fresh, told) = (Choices::default(), Choices::default());
        Self { holds, profiles: Vec::new(), wake: false, fresh, is_mode_fresh: false, told }
    }

    /// The thread was loaded again; what was chosen since the last turn still holds.
    pub(crate) fn renew(&mut self, thread: &ThreadOpened) {
        // One that says nothing, as a new one does, may not know the mode.
        let is_default = self.collaboration() == CollaborationMode::Default;
        self.is_mode_fresh |= thread.holds.collaboration.is_none() && !is_default;
        self.told = Choices::default();
        self.learn(&thread.holds);
    }

    /// The choices of a fork, of which `thread` is the thread: Codex copies all but the effort.
    pub(crate) fn forked(&self, thread: &ThreadOpened) -> Self {
        let mut chosen = self.clone();
        chosen.renew(thread);
        if chosen.holds.effort.is_none() {
            chosen.holds.effort.clone_from(&self.holds.effort);
            chosen.fresh.effort.clone_from(&self.holds.effort);
        }
        chosen
    }

    /// Codex says what holds now; what was chosen since wins until it is told.
    /// Returns whether anything shown changed.
    pub(crate) fn learn(&mut self, told: &Holds) -> bool {
        if told.rules.is_some() {
            self.holds.rules.clone_from(&told.rules);
        }
        let before = self.holds.clone();
        self.confirmed(told);
        if self.fresh.model.is_none() && self.told.model.is_none() {
            self.holds.model.clone_from(&told.model);
        }
        if self.fresh.effort.is_none() && self.told.effort.is_none() {
            self.holds.effort.clone_from(&told.effort);
        }
        if self.fresh.tier.is_none() && self.told.tier.is_none() {
            self.holds.tier.clone_from(&told.tier);
        }
        let is_mode_under_way = self.told.preset.is_some() || self.told.profile.is_some();
        if self.fresh.preset.is_none() && self.fresh.profile.is_none() && !is_mode_under_way {
            self.holds.preset = told.preset;
            self.holds.profile.clone_from(&told.profile);
        }
        if !self.is_mode_fresh && self.told.collaboration.is_none() {
            self.holds.collaboration = told.collaboration.or(self.holds.collaboration);
        }
        before != self.holds
    }

    /// Codex says that some of what it was told holds.
    fn confirmed(&mut self, holds: &Holds) {
        let told = &mut self.told;
        told.model.take_if(|it| *it == holds.model);
        told.effort.take_if(|it| holds.effort.as_ref() == Some(it));
        told.tier.take_if(|it| holds.tier.as_ref() == Some(it));
        told.preset.take_if(|it| holds.preset == Some(*it));
        told.profile.take_if(|it| holds.profile.as_ref() == Some(it));
        told.collaboration.take_if(|it| holds.collaboration == Some(it.mode));
    }

    /// Codex is being told of these.
    pub(crate) fn tell(&mut self, choices: Choices) {
        let told = &mut self.told;
        told.model = choices.model.or(told.model.take());
        told.effort = choices.effort.or(told.effort.take());
        told.tier = choices.tier.or(told.tier.take());
        // One is in the place of the other.
        if choices.preset.is_some() || choices.profile.is_some() {
            (told.preset, told.profile) = (choices.preset, choices.profile);
        }
        told.collaboration = choices.collaboration.or(told.collaboration.take());
    }

    /// A turn begins: what Codex says from here on is how it is.
    pub(crate) fn turn_begins(&mut self) {
        self.told = Choices::default();
    }

    /// These profiles can be chosen. Returns whether anything shown changed.
    pub(crate) fn offer(&mut self, profiles: &[Profile]) -> bool {
        let is_news = profiles != self.profiles;
        if is_news {
            self.profiles = profiles.to_vec();
        }
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
        self.told = Choices::default();
        self.fresh.model = self.fresh.model.take().or(choices.model);
        self.fresh.effort = self.fresh.effort.take().or(choices.effort);
        self.fresh.tier = self.fresh.tier.take().or(choices.tier);
        // One is in the place of the other.
        if self.fresh.preset.is_none() && self.fresh.profile.is_none() {
            (self.fresh.preset, self.fresh.profile) = (choices.preset, choices.profile);
        }
        self.is_mode_fresh |= choices.collaboration.is_some();
    }

    /// The value of an option that a person means: by its id or its name, in whatever case; else as it was typed.
    pub(crate) fn meant(&self, id: &str, typed: &str, models: &Catalogue) -> String {
        let options = self.list(models);
        let values = options.iter().filter(|option| option.id == id).flat_map(|option| &option.values);
        let is_it =
            |it: &&OptionValue| [&it.value, &it.name].iter().any(|text| text.eq_ignore_ascii_case(typed));
        // Two may differ in case alone, or one have the name that is the id of another.
        let exact = values.clone().find(|it| it.value == typed);
        exact.or_else(|| values.clone().find(is_it)).map_or_else(|| typed.to_owned(), |it| it.value.clone())
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
}
