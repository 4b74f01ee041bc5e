//! The console of a service: whether there is one, where, and the link that lets one person in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use serde::Deserialize;
use singlet_console::{Console, ConsoleSettings, LINK_TIME_MAX};
use singlet_http::{ConsoleShown, Service, Surfaces, System};

use super::greeting::Addresses;
use super::sources::Source;
use crate::commands::print_text;

/// What the console may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Everything.
    Full,
    /// Nothing that writes.
    ReadOnly,
    /// There is none.
    Off,
}

/// The console that a deployment wants.
pub(crate) struct Wanted {
    /// Where it is shown.
    pub shown: ConsoleShown,
    read_only: bool,
    hosts: Vec<String>,
    addresses: [Option<SocketAddr>; 2],
    surfaces: Surfaces,
}

/// Where the console is. What was said and cannot be is a mistake; where nothing was said, it is left out.
pub(crate) fn wanted_console(
    mode: Option<Mode>,
    hosts: Vec<String>,
    surfaces: Surfaces,
    systems: &[System],
    addresses: &[Option<SocketAddr>; 2],
) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        shown: match mode {
            None => ConsoleShown::Loopback,
            Some(Mode::Off) => ConsoleShown::Nowhere,
            Some(Mode::Full | Mode::ReadOnly) => ConsoleShown::Anywhere,
        },
        read_only: mode == Some(Mode::ReadOnly),
        hosts,
        addresses: *addresses,
        surfaces,
    };
    let taken = systems.iter().find(|system| {
        let at_root = system.prefix.is_empty();
        let mut places = system.routes.route_paths().iter();
        system.prefix == "/console" || at_root && places.any(|place| place.path.starts_with("/console"))
    });
    if let Some(taken) = taken {
        if wanted.shown == ConsoleShown::Anywhere {
            return Err(format!("`--console`: `{}` has `/console` for itself", taken.name));
        }
        wanted.shown = ConsoleShown::Nowhere;
    }
    if wanted.shown == ConsoleShown::Anywhere && wanted.first_address().is_none() {
        return Err("`--console` is shown where `home` and `docs` are, and `--surfaces` leaves them out".to_owned());
    }
    Ok(wanted)
}

impl Wanted {
    /// The first address that shows it: the operators' one, if there is one.
    fn first_address(&self) -> Option<SocketAddr> {
        let [own, operators] = self.addresses;
        let for_operators = operators.filter(|address| self.shown.at(Some(*address), Surfaces::ALL));
        for_operators.or(own.filter(|address| self.shown.at(Some(*address), self.surfaces)))
    }
}

/// Where the texts of the models are, by system.
pub(crate) fn model_texts(sources: &[Source], names: &[String]) -> HashMap<String, TextAt> {
    let texts = sources.iter().map(|source| match source {
        Source::File { path, .. } => TextAt::File(path.clone()),
        Source::Bundled(system) => TextAt::Bundled(system.name, system.model),
    });
    names.iter().cloned().zip(texts).collect()
}

/// Where the text of a model is.
pub(crate) enum TextAt {
    /// In a file, which may change.
    File(PathBuf),
    /// In the command: name and text.
    Bundled(&'static str, &'static str),
}

impl TextAt {
    fn read(&self) -> Option<(String, Vec<u8>)> {
        match self {
            TextAt::File(path) => Some((path.display().to_string(), crate::source::read_source(path).ok()?)),
            TextAt::Bundled(name, text) => Some(((*name).to_owned(), text.as_bytes().to_vec())),
        }
    }
}

/// Gives the service its console; says the link with which one person signs in. None where it is shown nowhere.
pub(crate) fn start_console(
    wanted: &Wanted,
    service: &Arc<Service>,
    addresses: &Addresses,
    texts: HashMap<String, TextAt>,
) -> Option<String> {
    let address = wanted.first_address()?;
    let url = addresses.url(reachable(address));
    let at = url.clone();
    let settings = ConsoleSettings {
        read_only: wanted.read_only,
        hosts: wanted.hosts.clone(),
        announce: Box::new(move |link| {
            print_text(&line(&at, link));
        }),
        model_text: Box::new(move |system| texts.get(system)?.read()),
        clock: Box::new(Instant::now),
    };
    let console = Console::new(service, settings);
    service.set_console(Arc::clone(&console) as Arc<dyn singlet_http::AnswerConsole>);
    Some(line(&url, &console.new_link()?))
}

/// The line with the link. It goes to standard output, for who started it, and into no log.
fn line(url: &str, link: &str) -> String {
    let minutes = LINK_TIME_MAX.as_secs() / 60;
    format!("console at {url}{link}\n  (this link works once, within {minutes} minutes)\n\n")
}

/// An address that a browser on this machine can go to.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, v6.port())),
        other => other,
    }
}
