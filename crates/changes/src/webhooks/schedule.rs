//! When a delivery is tried again.

use std::time::Duration;

/// The waits between attempts, as Standard Webhooks suggests them: ten attempts in three days and three and a half hours.
const RETRY_WAITS: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(5 * 3_600),
    Duration::from_secs(10 * 3_600),
    Duration::from_secs(14 * 3_600),
    Duration::from_secs(20 * 3_600),
    Duration::from_secs(24 * 3_600),
];

/// How often a delivery is tried before it has failed.
pub const ATTEMPTS_MAX: u32 = RETRY_WAITS.len() as u32 + 1;

/// By which share of it a wait is drawn out at most, so that what failed together does not come again together.
const JITTER_MAX: f64 = 0.1;

/// The longest `Retry-After` that is believed.
pub const RETRY_AFTER_MAX_SECONDS: i64 = 24 * 3_600;

/// The wait after so many attempts that failed, in milliseconds; none where it was the last.
pub(super) fn wait_after(attempts: u32, jitter: f64) -> Option<i64> {
    let at = usize::try_from(attempts).ok()?.checked_sub(1)?;
    let wait = RETRY_WAITS.get(at)?.mul_f64(1.0 + JITTER_MAX * jitter);
    i64::try_from(wait.as_millis()).ok()
}

/// What a `Retry-After` asks for, in milliseconds from now: seconds, or an instant. What is no such thing asks for nothing.
pub(super) fn asked_wait(text: &str, now: i64) -> Option<i64> {
    let text = text.trim();
    let seconds = match text.parse::<u32>() {
        Ok(seconds) => i64::from(seconds),
        // More digits than a number has are a long time all the same.
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => RETRY_AFTER_MAX_SECONDS,
        Err(_) => {
            let instant = jiff::fmt::rfc2822::parse(text).ok()?;
            instant.timestamp().as_second() - now.div_euclid(1_000)
        }
    };
    Some(seconds.clamp(0, RETRY_AFTER_MAX_SECONDS) * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_take_three_days_and_three_and_a_half_hours() {
        let waits: Vec<i64> = (1..ATTEMPTS_MAX)
            .filter_map(|attempts| wait_after(attempts, 0.0))
            .collect();
        assert_eq!((ATTEMPTS_MAX, waits.len()), (10, 9));
        assert_eq!(waits.iter().sum::<i64>(), ((75 * 60 + 35) * 60 + 5) * 1_000);
        assert_eq!((wait_after(0, 0.0), wait_after(ATTEMPTS_MAX, 0.0)), (None, None));
        assert_eq!(wait_after(1, 1.0), Some(5_500));
    }

    #[test]
    fn retry_after_is_seconds_or_an_instant_and_has_a_bound() {
        // 2026-11-16T12:00:00Z.
        let now = 1_794_830_400_000;
        assert_eq!(asked_wait("0", now), Some(0));
        assert_eq!(asked_wait(" 120 ", now), Some(120_000));
        assert_eq!(asked_wait("86400", now), Some(86_400_000));
        assert_eq!(asked_wait("86401", now), Some(86_400_000));
        assert_eq!(asked_wait("99999999999999999999", now), Some(86_400_000));
        assert_eq!(asked_wait("Mon, 16 Nov 2026 12:01:00 GMT", now), Some(60_000));
        assert_eq!(asked_wait("Mon, 16 Nov 2026 11:00:00 GMT", now), Some(0));
        for nothing in ["", "soon", "-1", "1.5"] {
            assert_eq!(asked_wait(nothing, now), None, "{nothing}");
        }
    }
}
