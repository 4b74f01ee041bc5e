//! Any bytes, through all that `singlet check` does with a file: decode, parse, resolve, design rules, sort, and the places
//! of the findings. Nothing may panic, hang, or point outside the file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (source, findings) = match singlet_model::decode_source("model.yaml", bytes.to_vec()) {
        Ok(source) => {
            let findings = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
            (source, findings)
        }
        Err(invalid) => (invalid.0, vec![invalid.1]),
    };
    for finding in &findings {
        let text = source.text();
        let range = finding.span.range();
        assert!(
            range.end <= text.len(),
            "{} ends at byte {} of {}",
            finding.rule.code,
            range.end,
            text.len()
        );
        assert!(
            text.is_char_boundary(range.start) && text.is_char_boundary(range.end),
            "{} cuts a character: {range:?} {}",
            finding.rule.code,
            finding.message
        );
        let _ = source.position_at(finding.span.start);
    }
});
