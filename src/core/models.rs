//! The models that Codex offers, asked once per app-server.

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    pub slug: String,
    pub name: String,
    pub description: String,
    pub hidden: bool,
    /// Value and description, in Codex's order.
    pub efforts: Vec<(String, String)>,
    pub default_effort: Option<String>,
    pub tiers: Vec<Tier>,
    pub default_tier: Option<String>,
    pub is_default: bool,
}

/// A speed that a model can be had in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    pub id: String,
    pub name: String,
    pub description: String,
}

/// What is known of the models.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    models: Vec<Model>,
    pages: Vec<Model>,
    known: bool,
}

impl Catalogue {
    /// One more page; the last one makes the list known.
    pub(crate) fn page(&mut self, models: Vec<Model>, is_last: bool) {
        self.pages.extend(models);
        if is_last {
            self.models = std::mem::take(&mut self.pages);
            self.known = true;
        }
    }

    /// Codex cannot say: sessions offer the model they have.
    pub(crate) fn give_up(&mut self) {
        self.pages.clear();
        self.known = true;
    }

    /// Whether anything is to be waited for.
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Models to offer, in Codex's order.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &Model> {
        self.models.iter().filter(|model| !model.hidden)
    }

    /// The model with this slug, hidden ones included.
    pub(crate) fn find(&self, slug: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.slug == slug)
    }
}
