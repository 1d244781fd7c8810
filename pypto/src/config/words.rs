//! Enums that are written as words: in configuration files, in environment variables, on command lines.

/// Declares an enum with one word a variant, and `name`, `ALL`, `Display`, `FromStr`, `Serialize` and `Deserialize` by it.
/// `field` is the setting that errors name.
macro_rules! word_enum {
    (
        $(#[$doc:meta])*
        pub enum $name:ident as $field:literal { $( $(#[$variant_doc:meta])* $variant:ident = $word:literal, )* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $( $(#[$variant_doc])* $variant, )* }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::config::ConfigError;

            fn from_str(text: &str) -> Result<$name, Self::Err> {
                let words = || $name::ALL.iter().map(|v| format!("`{}`", v.name())).collect::<Vec<_>>().join(", ");
                let known = $name::ALL.iter().find(|v| v.name() == text);
                known.copied().ok_or_else(|| $crate::config::ConfigError::value($field, text, format!("one of {}", words())))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(super) use word_enum;
