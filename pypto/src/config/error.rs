//! A value that a setting cannot have.

/// Why a configuration is refused: the setting, the value that it was given, and what it may be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value outside of what the setting allows.
    #[error("`{field}` is {value}: expected {allowed}")]
    Value { field: String, value: String, allowed: String },
    /// Two settings that exclude each other.
    #[error("`{field}` is {value}, but `{other}` is {other_value}: {fix}")]
    Conflict { field: String, value: String, other: String, other_value: String, fix: String },
    /// A setting that the platform has no use for.
    #[error("`{field}` is {value}, which means nothing on `{platform}`: {fix}")]
    NotOnPlatform { field: String, value: String, platform: String, fix: String },
    /// An environment variable with a value outside of what it allows.
    #[error("the environment variable {variable} is {value}: expected {allowed}")]
    Environment { variable: String, value: String, allowed: String },
}

impl ConfigError {
    /// A value outside of what the setting allows.
    pub fn value(field: &str, value: impl std::fmt::Display, allowed: impl Into<String>) -> ConfigError {
        ConfigError::Value { field: field.to_owned(), value: format!("`{value}`"), allowed: allowed.into() }
    }

    /// A setting that the platform has no use for.
    pub fn not_on(field: &str, value: impl std::fmt::Display, platform: super::Platform, fix: &str) -> ConfigError {
        ConfigError::NotOnPlatform {
            field: field.to_owned(),
            value: format!("`{value}`"),
            platform: platform.name().to_owned(),
            fix: fix.to_owned(),
        }
    }

    /// The setting or the variable that is wrong.
    pub fn field(&self) -> &str {
        match self {
            ConfigError::Value { field, .. }
            | ConfigError::Conflict { field, .. }
            | ConfigError::NotOnPlatform { field, .. } => field,
            ConfigError::Environment { variable, .. } => variable,
        }
    }
}
