//! Tickets: how a client that sends no headers, as a browser's `EventSource`, shows who it is.
//!
//! Whoever asks a read with credentials gets a ticket for the same path and query, and watches with it in their place. It holds the
//! credentials, sealed: what they no longer admit, the ticket does not either, and watching ends with them.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use crate::call::Incoming;
use crate::problem::Problem;
use crate::query::{QueryParameters, TICKET};
use crate::system::System;

/// What asks for a ticket in place of one.
pub(crate) const NEW_TICKET: &str = "new";

/// The header of an answer that has one.
pub(crate) const TICKET_HEADER: HeaderName = HeaderName::from_static("singlet-ticket");

/// How long a ticket is good to begin with; what has begun goes on.
const TICKET_MILLIS: i64 = 60_000;

/// The longest ticket that is looked at, in bytes.
const TICKET_BYTES_MAX: usize = 24 * 1024;

/// What a ticket holds.
#[derive(Serialize, Deserialize)]
struct Ticket {
    until: i64,
    /// The headers that show who calls.
    credentials: Vec<(String, String)>,
}

/// What a ticket belongs to: a path of a system and the parameters of its query, in any order.
fn belongs(system: &System, path: &str, query: &QueryParameters) -> Vec<u8> {
    let mut sent: Vec<_> = query.sent_parameters().filter(|(name, _)| *name != TICKET).collect();
    // In whatever order they come: the same query has the same ticket.
    sent.sort_unstable();
    serde_json::to_vec(&("ticket", &system.name, path, sent)).unwrap_or_default()
}

/// A ticket for the same request, by the credentials that came with this one.
pub(crate) fn issue_ticket(
    system: &System,
    incoming: &Incoming<'_>,
    query: &QueryParameters,
    now: i64,
) -> Option<HeaderValue> {
    let ticket = Ticket {
        until: now.saturating_add(TICKET_MILLIS),
        credentials: system.authenticator.sent_credentials(&incoming.headers),
    };
    let text = serde_json::to_vec(&ticket).ok()?;
    let sealed = system
        .engine
        .seal_bytes(&text, &belongs(system, incoming.path, query))
        .ok()?;
    HeaderValue::from_str(&sealed).ok()
}

/// The headers of a request with the credentials that a ticket holds.
///
/// # Errors
///
/// Where it is forged, past its time, made for another path or query, or comes with other credentials.
pub(crate) fn redeem_ticket(
    system: &System,
    incoming: &Incoming<'_>,
    query: &QueryParameters,
    (ticket, now): (&str, i64),
) -> Result<HeaderMap, Problem> {
    let refused = |detail: &str| system.authenticator.credentials_refused(detail);
    let no_longer = || refused("the ticket is not good for this, or no longer");
    // Two of them would have to be weighed against each other.
    if !system.authenticator.sent_credentials(&incoming.headers).is_empty() {
        return Err(refused("a ticket comes without other credentials"));
    }
    if ticket.len() > TICKET_BYTES_MAX {
        return Err(no_longer());
    }
    let opened = system.engine.open_bytes(ticket, &belongs(system, incoming.path, query));
    let opened = opened.map_err(|_| no_longer())?;
    let ticket: Ticket = serde_json::from_slice(&opened).map_err(|_| no_longer())?;
    // A clock that was put back makes no ticket last for longer.
    if !(0..=TICKET_MILLIS).contains(&(ticket.until - now)) {
        return Err(no_longer());
    }
    let mut headers = incoming.headers.clone();
    for (name, value) in ticket.credentials {
        let header = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, value) = header.ok_or_else(no_longer)?;
        // The credentials themselves and not a caller: they are verified again, as long as anybody watches.
        headers.append(name, value);
    }
    Ok(headers)
}
