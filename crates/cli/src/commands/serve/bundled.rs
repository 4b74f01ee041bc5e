//! The five systems inside the binary: what `singlet serve` shows without a model.

/// A model with its sample data, and a call that shows it.
pub(crate) struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// The model file.
    pub model: &'static str,
    /// What it must do.
    pub scenarios: &'static str,
    /// Rows for its table.
    pub sample: &'static str,
    /// A caller who has rows in the sample: claims by the token's names, or the role of an API key.
    pub caller: &'static [(&'static str, &'static str)],
    /// A path worth a first look.
    pub path: &'static str,
}

macro_rules! bundled {
    ($name:literal, $caller:expr, $path:literal) => {
        Bundled {
            name: $name,
            model: include_str!(concat!("../../../../../systems/", $name, "/model.yaml")),
            scenarios: include_str!(concat!("../../../../../systems/", $name, "/scenarios.yaml")),
            sample: include_str!(concat!("../../../../../systems/", $name, "/sample.jsonl")),
            caller: $caller,
            path: $path,
        }
    };
}

/// All of them.
pub(crate) const SYSTEMS: [Bundled; 5] = [
    bundled!("todo", &[("sub", "ada")], "/api/v1/tasks?status=pending&limit=3"),
    bundled!(
        "wardrobe",
        &[("sub", "tomas")],
        "/users/tomas/items?season=winter&limit=3"
    ),
    bundled!("country", &[("role", "writer")], "/api/v1/countries/code/NO"),
    bundled!(
        "booking",
        &[("sub", "elena"), ("role", "admin")],
        "/admin/bookings?status=pending&limit=3"
    ),
    bundled!(
        "ecobid",
        &[("sub", "kasia")],
        "/items?near=52.2297,21.0122&km=5&limit=3"
    ),
];

/// The system of that name.
pub(crate) fn bundled_system(name: &str) -> Option<&'static Bundled> {
    SYSTEMS.iter().find(|system| system.name == name)
}
