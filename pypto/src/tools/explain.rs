//! `pypto explain CODE`: the page of a diagnostic code.

use crate::diagnostics::codes;

/// The page of a code in any spelling (`PTO0203`, `203`), or a list of all codes where there is none of that name.
///
/// # Errors
/// The list, for an unknown code.
pub fn explain(code: &str) -> Result<&'static str, String> {
    let page = codes::parse(code).and_then(codes::explain);
    page.ok_or_else(|| format!("there is no code `{code}`; the codes are\n{}", list()))
}

/// Every code with its summary, one a line.
pub fn list() -> String {
    codes::ALL.iter().map(|info| format!("  {}  {}\n", info.code, info.summary)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_codes_have_pages_and_unknown_ones_a_list() {
        assert!(explain("203").unwrap().starts_with("# PTO0203"));
        assert!(explain("PTO9999").unwrap_err().contains("PTO0203"));
    }
}
