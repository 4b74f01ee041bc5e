//! Who calls: the claims of tokens with their types, and API keys.

use super::table::{text_list, word_field};
use super::types::TypeTable;
use super::{Resolver, is_identifier, numbers};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::Claim;
use crate::model::{AudienceClaim, CallerClaim, Callers, ClaimSpelling, TokenUse};
use crate::node::{Entry, Node};
use crate::rules;
use crate::text::Text;
use crate::types::{LengthLimits, Type};

/// How deep a claim may lie in a token.
const CLAIM_STEPS_MAX: usize = 8;

impl Resolver<'_> {
    pub(super) fn callers(&mut self, node: Option<&Node>, types: &mut TypeTable) -> Callers {
        let Some(node) = node else {
            return Callers::default();
        };
        let jwt = node.get("jwt");
        let key = node.get("api_key");
        let named = jwt.and_then(|jwt| jwt.get("claims")).map_or(&[][..], Node::entries);
        let mut claims = Vec::with_capacity(named.len());
        for entry in named {
            self.check_claim_name(&entry.key);
            claims.extend(self.caller_claim(entry, types));
        }
        let callers = Callers {
            audience: jwt.and_then(|jwt| word_field(jwt, "audience")),
            audience_claim: match jwt.and_then(|jwt| jwt.get("audience_in")).and_then(Node::str) {
                Some("azp") => AudienceClaim::AuthorizedParty,
                Some("client_id") => AudienceClaim::ClientId,
                _ => AudienceClaim::Audience,
            },
            token_use: match jwt.and_then(|jwt| jwt.get("token_use")).and_then(Node::str) {
                Some("id") => Some(TokenUse::Id),
                Some("access") => Some(TokenUse::Access),
                _ => None,
            },
            claims,
            api_key_header: key.and_then(|key| header(key.get("header"), self.out)),
            roles: text_list(key.and_then(|key| key.get("roles"))),
            rate: node
                .get("rate")
                .and_then(Node::text)
                .and_then(|text| numbers::caller_rate(text, self.out)),
        };
        self.check_texts(named, &callers);
        callers
    }

    fn check_claim_name(&mut self, name: &Text) {
        if name.text == "authenticated" {
            let message = "`caller.authenticated` says whether there are credentials, and is no claim";
            let help = "give the claim another name";
            self.out
                .push(Diagnostic::new(&rules::RESERVED_NAME, name.span, message).help(help));
        }
        if !is_identifier(&name.text) {
            let message = format!("`{}` cannot name a claim", name.text);
            let help = "names begin with a letter and have letters, digits and `_`";
            self.out
                .push(Diagnostic::new(&rules::RESERVED_NAME, name.span, message).help(help));
        }
    }

    /// `sub`, `[realm_access, roles]`, or `{claim: …, type: …}`.
    fn caller_claim(&mut self, entry: &Entry, types: &mut TypeTable) -> Option<CallerClaim> {
        let long = entry.value.is_map();
        let place = if long { entry.value.get("claim")? } else { &entry.value };
        let path = self.claim_path(place)?;
        let is_words = long && super::table::flag_field(&entry.value, "words");
        let spelling = if is_words {
            ClaimSpelling::Words
        } else {
            ClaimSpelling::Json
        };
        let declared = entry.value.get("type").filter(|_| long);
        let ty = match declared {
            Some(node) => self.claim_type(node, spelling, types)?,
            None if is_words => Type::List(Type::text().into(), LengthLimits::default()),
            None => Type::text(),
        };
        Some(CallerClaim {
            name: entry.key.text.clone(),
            path,
            ty,
            spelling,
        })
    }

    /// The claim and the fields that lead into it. A text with dots is a path, unless it has what only whole names have: a namespace
    /// is an address, and Cognito's have colons. A list has one step an element, whatever is in it.
    fn claim_path(&mut self, node: &Node) -> Option<Vec<String>> {
        let steps: Vec<String> = match node {
            Node::Scalar(text) if text.text.contains(['/', ':']) => vec![text.text.clone()],
            Node::Scalar(text) => text.text.split('.').map(str::to_owned).collect(),
            Node::List(..) => text_list(Some(node)),
            Node::Map(..) => return None,
        };
        if steps.is_empty() || steps.len() > CLAIM_STEPS_MAX || steps.iter().any(String::is_empty) {
            let message = "this does not say where in a token the claim stands";
            let help = format!(
                "write the claim's name, `realm_access.roles` for one within another, or its steps as a list, up to {CLAIM_STEPS_MAX}: `[resource_access, my.client, roles]`"
            );
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            // Known all the same, so that what asks for it is not reported too.
            return Some(Vec::new());
        }
        if let Some(step) = steps.iter().find(|step| step.ends_with('?')) {
            let message = format!("no token has a claim `{step}`");
            let help = "a claim may always be missing: leave `?` out";
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
        }
        Some(steps)
    }

    fn claim_type(&mut self, node: &Node, spelling: ClaimSpelling, types: &mut TypeTable) -> Option<Type> {
        let declared = self.declared(node, types)?;
        let mut wrong = |message: String, help: &str| {
            self.out
                .push(Diagnostic::new(&rules::BAD_TYPE, node.span(), message).help(help));
        };
        if declared.optional || declared.default.is_some() {
            wrong(
                "a claim may always be missing, and has no default".to_owned(),
                "leave `?` and `=` out; `caller.x == absent` asks whether it is missing",
            );
        }
        let fits = match &declared.ty {
            Type::List(element, _) => is_plain(element),
            ty => is_plain(ty) && spelling == ClaimSpelling::Json,
        };
        if !fits {
            let message = match spelling {
                ClaimSpelling::Json => format!("a claim cannot be of type `{}`", declared.ty),
                ClaimSpelling::Words => format!("the words of a claim are a list, and not `{}`", declared.ty),
            };
            wrong(
                message,
                "claims are text, numbers, `bool`, an enum, or a list of these: `list(string)`",
            );
            return Some(Type::Unknown);
        }
        Some(declared.ty)
    }

    /// The id names a caller in records of requests and in rates, and API keys have ids and roles that are text.
    fn check_texts(&mut self, named: &[Entry], callers: &Callers) {
        for (entry, claim) in named
            .iter()
            .filter_map(|entry| Some((entry, callers.claim_named(&entry.key.text)?)))
        {
            let by_key = callers.api_key_header.is_some() && claim.name == "role";
            if (claim.name == "id" || by_key)
                && !matches!(
                    claim.ty,
                    Type::Text(_) | Type::Uuid | Type::Ulid | Type::Ksuid | Type::Unknown
                )
            {
                let message = format!("`caller.{}` is text, and not `{}`", claim.name, claim.ty);
                let help = match by_key {
                    true => "API keys have one role, which is text: give the claim another name, such as `roles`",
                    false => {
                        "give the claim another name, and have `id` from the claim that names the caller, such as `sub`"
                    }
                };
                self.out
                    .push(Diagnostic::new(&rules::BAD_TYPE, entry.value.span(), message).help(help));
            }
        }
    }
}

/// Whether a claim can be of that type, or have elements of it: what JSON has as one text, number or truth.
fn is_plain(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Text(_)
            | Type::Int(_)
            | Type::Number(_)
            | Type::Bool
            | Type::Date
            | Type::Month
            | Type::Ulid
            | Type::Ksuid
            | Type::Uuid
            | Type::Enum(_)
    )
}

/// What expressions know of the caller.
pub(super) fn caller_claims(callers: &Callers) -> Vec<Claim> {
    let known = callers.claim_types().into_iter();
    known
        .map(|(name, ty)| Claim {
            name: name.to_owned(),
            ty,
        })
        .collect()
}

/// The name of a header, as HTTP takes it.
fn header(node: Option<&Node>, out: &mut Diagnostics) -> Option<String> {
    let text = node?.text()?;
    let spelled = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if text.text.is_empty() || !text.text.bytes().all(spelled) {
        let message = format!("`{}` is no name of a header", text.text);
        out.push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help("such as `X-Api-Key`"));
        return None;
    }
    Some(text.text.clone())
}
