//! Who calls: what tokens and API keys must say, and what the model makes of it.

use super::Rate;
use crate::types::Type;

/// Who may call.
#[derive(Debug, Default)]
pub struct Callers {
    /// The audience that tokens must name.
    pub audience: Option<String>,
    /// Which claim names it.
    pub audience_claim: AudienceClaim,
    /// What tokens must be for, where the model says so.
    pub token_use: Option<TokenUse>,
    /// Names used as `caller.name`, and where each stands in a token.
    pub claims: Vec<CallerClaim>,
    /// The header of API keys.
    pub api_key_header: Option<String>,
    /// The roles of API keys.
    pub roles: Vec<String>,
    /// Requests per caller.
    pub rate: Option<Rate>,
}

impl Callers {
    /// The claim that the model calls by that name.
    pub fn claim_named(&self, name: &str) -> Option<&CallerClaim> {
        self.claims.iter().find(|claim| claim.name == name)
    }

    /// Every name that can stand after `caller.`, with its type; `authenticated` apart. API keys have an id and a role.
    pub fn claim_types(&self) -> Vec<(&str, Type)> {
        let mut all: Vec<(&str, Type)> = self
            .claims
            .iter()
            .map(|claim| (claim.name.as_str(), claim.ty.clone()))
            .collect();
        if self.api_key_header.is_some() {
            for name in ["id", "role"] {
                if !all.iter().any(|(known, _)| *known == name) {
                    all.push((name, Type::text()));
                }
            }
        }
        all
    }
}

/// A claim of tokens under the model's name.
#[derive(Clone, Debug, PartialEq)]
pub struct CallerClaim {
    /// The name after `caller.`.
    pub name: String,
    /// The claim of the token, and the fields that lead into it.
    pub path: Vec<String>,
    /// What it must be. A claim of another kind says nothing.
    pub ty: Type,
    /// How the token has it.
    pub spelling: ClaimSpelling,
}

impl CallerClaim {
    /// Where it stands, for people.
    pub fn claim_place(&self) -> String {
        self.path.join(".")
    }
}

/// How a token has the value of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimSpelling {
    /// As JSON has values of its type.
    #[default]
    Json,
    /// A list as one text with spaces between the words, as `scope` has them.
    Words,
}

/// Which claim of a token names its audience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AudienceClaim {
    /// `aud`. An access token of Cognito, which has none, says `client_id`.
    #[default]
    Audience,
    /// `azp`: who asked for the token.
    AuthorizedParty,
    /// `client_id`: who asked for the token.
    ClientId,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It tells a client who has signed in.
    Id,
    /// It lets a client call a service.
    Access,
}
