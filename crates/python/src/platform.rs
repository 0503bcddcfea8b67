//! Platforms and scenarios.

use crate::errors::{self, bad_input, input};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use slackline_core::formats::{platform_toml, scenario as scenario_file};
use slackline_core::model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_core::model::scenario::Scenario;
use slackline_core::model::{HostId, Platform};
use slackline_generate::Seed;
use slackline_generate::registry::{self, Family};
use slackline_generate::scenario::Surroundings;
use std::sync::Arc;

/// Hosts and the network between them.
#[pyclass(subclass, frozen, name = "Platform", module = "slackline._native")]
pub(crate) struct Platform_ {
    pub(crate) platform: Arc<Platform>,
    path: Option<String>,
}

impl Platform_ {
    pub(crate) fn of(platform: Platform, path: Option<String>) -> Platform_ {
        Platform_ { platform: Arc::new(platform), path }
    }
}

#[pymethods]
impl Platform_ {
    /// The platform of a text in TOML, or of another object.
    #[new]
    #[pyo3(signature = (of, path = None))]
    fn new(of: &Bound<'_, PyAny>, path: Option<String>) -> PyResult<Platform_> {
        if let Ok(other) = of.cast::<Platform_>() {
            let other = other.get();
            return Ok(Platform_ { platform: other.platform.clone(), path: other.path.clone() });
        }
        let text: String = of.extract().map_err(|_| bad_input("a platform is made of a text"))?;
        let platform = of.py().detach(|| platform_toml::parse(&text)).map_err(input)?;
        Ok(Platform_::of(platform, path))
    }

    #[getter]
    fn name(&self) -> &str {
        self.platform.name()
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.path.as_deref()
    }

    #[getter]
    fn hosts(&self) -> Vec<Host_> {
        self.platform.host_ids().map(|id| Host_::new(&self.platform, id)).collect()
    }

    #[getter]
    fn cores_of_all(&self) -> u64 {
        self.platform.total_cores()
    }

    #[getter]
    fn is_priced(&self) -> bool {
        self.platform.is_priced()
    }

    fn __len__(&self) -> usize {
        self.platform.hosts().len()
    }

    fn host(&self, host: &Bound<'_, PyAny>) -> PyResult<Host_> {
        Ok(Host_::new(&self.platform, host_of(host, &self.platform)?))
    }

    /// Facts of every host, as columns.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let hosts = self.platform.hosts();
        let columns = PyDict::new(py);
        columns.set_item("host", hosts.iter().map(|h| &*h.name).collect::<Vec<_>>())?;
        let class = |id| &*self.platform.class(id).name;
        columns.set_item("class", hosts.iter().map(|h| class(h.class)).collect::<Vec<_>>())?;
        columns.set_item("cores", hosts.iter().map(|h| h.cores).collect::<Vec<_>>())?;
        columns.set_item("speed", hosts.iter().map(|h| h.speed).collect::<Vec<_>>())?;
        columns.set_item("memory", hosts.iter().map(|h| h.memory).collect::<Vec<_>>())?;
        columns.set_item("price", hosts.iter().map(|h| h.price).collect::<Vec<_>>())?;
        Ok(columns)
    }

    fn to_toml(&self) -> PyResult<String> {
        platform_toml::to_string(&self.platform).map_err(input)
    }
}

/// A host of a platform.
#[pyclass(frozen, name = "Host", module = "slackline._native")]
#[derive(Clone)]
pub(crate) struct Host_ {
    of: Arc<Platform>,
    pub(crate) id: HostId,
}

impl Host_ {
    pub(crate) fn new(of: &Arc<Platform>, id: HostId) -> Host_ {
        Host_ { of: of.clone(), id }
    }

    pub(crate) fn of_name(&self) -> &str {
        &self.of.host(self.id).name
    }
}

#[pymethods]
impl Host_ {
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn name(&self) -> &str {
        &self.of.host(self.id).name
    }

    #[getter]
    fn index(&self) -> u32 {
        self.id.0
    }

    #[getter]
    fn speed(&self) -> f64 {
        self.of.host(self.id).speed
    }

    #[getter]
    fn cores(&self) -> u32 {
        self.of.host(self.id).cores
    }

    #[getter]
    fn memory(&self) -> Option<f64> {
        self.of.host(self.id).memory
    }

    #[getter]
    fn price(&self) -> f64 {
        self.of.host(self.id).price
    }

    fn __repr__(&self) -> String {
        format!("<host {:?}>", self.name())
    }

    fn __str__(&self) -> &str {
        self.name()
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.id.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        match other.cast::<Host_>() {
            Ok(other) => {
                let other = other.get();
                self.id == other.id
                    && (Arc::ptr_eq(&self.of, &other.of) || self.name() == other.name())
            }
            Err(_) => false,
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        let name = slf.get().name().to_string();
        (slf.py().get_type::<PyString>().into_any(), (name,))
    }
}

/// The id of a host that is given as an object, by name or by position.
pub(crate) fn host_of(host: &Bound<'_, PyAny>, platform: &Platform) -> PyResult<HostId> {
    let named = |name: &str| {
        let unknown = || format!("there is no host '{name}' in '{}'", platform.name());
        platform.host_named(name).ok_or_else(|| PyKeyError::new_err(unknown()))
    };
    if let Ok(host) = host.cast::<Host_>() {
        let host = host.get();
        if std::ptr::eq(&*host.of, platform) {
            return Ok(host.id);
        }
        return named(host.name());
    }
    if let Ok(name) = host.cast::<PyString>() {
        return named(&name.to_cow()?);
    }
    match host.extract::<u32>() {
        Ok(index) if (index as usize) < platform.hosts().len() => Ok(HostId(index)),
        _ => {
            let found = host.get_type();
            Err(bad_input(&format!("a host is a host, its name or its position, not {found}")))
        }
    }
}

/// Content of a scenario.
enum Origin {
    Fixed(Arc<Scenario>),
    /// A generator with its parameters; some draw for the hosts of a platform.
    Drawn {
        name: String,
        given: Vec<(String, String)>,
        seed: u64,
    },
}

/// A generator, its parameters and the seed.
type Drawn = (String, Vec<(String, String)>, u64);

/// Changes of a platform and errors of estimates.
#[pyclass(subclass, frozen, name = "Scenario", module = "slackline._native")]
pub(crate) struct Scenario_ {
    origin: Origin,
    path: Option<String>,
}

impl Scenario_ {
    pub(crate) fn fixed(scenario: Scenario, path: Option<String>) -> Scenario_ {
        Scenario_ { origin: Origin::Fixed(Arc::new(scenario)), path }
    }

    /// The scenario that a generator draws, once it is known for which platform.
    fn drawn(name: &str, given: Vec<(String, String)>, seed: u64) -> PyResult<Scenario_> {
        let generator = registry::find(Family::Scenario, name).map_err(input)?;
        generator.settings(&given).map_err(input)?;
        let name = generator.name.to_string();
        Ok(Scenario_ { origin: Origin::Drawn { name, given, seed }, path: None })
    }

    /// The scenario on a platform, as repetition `more` after the first draws it.
    pub(crate) fn on(&self, platform: &Platform, more: u64) -> PyResult<Scenario> {
        match &self.origin {
            Origin::Fixed(scenario) => {
                let seed = scenario.seed.wrapping_add(more);
                Ok(Scenario { seed, ..Scenario::clone(scenario) })
            }
            Origin::Drawn { name, given, seed } => {
                let generator = registry::find(Family::Scenario, name).map_err(input)?;
                let settings = generator.settings(given).map_err(input)?;
                let around = Surroundings { platform: Some(platform), workflows: &[] };
                let seed = Seed::new(seed.wrapping_add(more));
                generator.scenario(&settings, seed, &around).map_err(input)
            }
        }
    }
}

#[pymethods]
impl Scenario_ {
    /// The scenario of a text in TOML or JSON.
    #[new]
    #[pyo3(signature = (text, path = None, drawn = None))]
    fn new(text: &str, path: Option<String>, drawn: Option<Drawn>) -> PyResult<Scenario_> {
        if let Some((name, given, seed)) = drawn {
            return Scenario_::drawn(&name, given, seed);
        }
        let scenario = scenario_file::parse_scenario(text).map_err(input)?;
        Ok(Scenario_::fixed(scenario, path))
    }

    #[getter]
    fn name(&self) -> String {
        match &self.origin {
            Origin::Fixed(scenario) => scenario.name.clone(),
            Origin::Drawn { name, .. } => name.clone(),
        }
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The scenario as it is on a platform.
    fn resolved(&self, platform: &Bound<'_, Platform_>) -> PyResult<Scenario_> {
        Ok(Scenario_::fixed(self.on(&platform.get().platform, 0)?, None))
    }

    fn to_toml(&self) -> PyResult<String> {
        match &self.origin {
            Origin::Fixed(scenario) => Ok(scenario_file::to_toml(scenario)),
            Origin::Drawn { .. } => {
                Err(errors::refused("a scenario is drawn for a platform: use .on(platform) first"))
            }
        }
    }

    /// Returns the content for pickling: a text, or the generator with its parameters.
    #[allow(clippy::type_complexity)]
    fn parts(&self) -> PyResult<(Option<String>, String, Vec<(String, String)>, u64)> {
        Ok(match &self.origin {
            Origin::Fixed(scenario) => (
                Some(scenario_file::to_json(scenario).map_err(input)?),
                String::new(),
                Vec::new(),
                0,
            ),
            Origin::Drawn { name, given, seed } => (None, name.clone(), given.clone(), *seed),
        })
    }
}

/// Single-core hosts with their speeds (flop/s), and bytes/s between pairs of them, without contention. Where no pair is
/// given all have the same bandwidth and latency.
#[pyfunction]
#[pyo3(signature = (name, hosts, pairs, bandwidth = f64::INFINITY, latency = 0.0))]
pub(crate) fn matrix_platform(
    name: &str,
    hosts: Vec<(String, f64)>,
    pairs: Vec<(String, String, f64)>,
    bandwidth: f64,
    latency: f64,
) -> PyResult<Platform_> {
    let mut builder = PlatformBuilder::new(name);
    let count = hosts.len();
    let mut rates = vec![f64::INFINITY; count * count];
    let mut known = vec![false; count * count];
    let place = |host: &str| {
        let found = hosts.iter().position(|(name, _)| name == host);
        found.ok_or_else(|| bad_input(&format!("there is no host '{host}'")))
    };
    for (a, b, rate) in &pairs {
        let (a, b) = (place(a)?, place(b)?);
        rates[a * count + b] = *rate;
        known[a * count + b] = true;
        // A pair that is given one way holds for both.
        if !known[b * count + a] {
            rates[b * count + a] = *rate;
        }
    }
    builder.set_matrix(if pairs.is_empty() {
        Matrix::Uniform { bandwidth, latency }
    } else {
        Matrix::Dense {
            hosts: count,
            bandwidth: rates.into(),
            latency: vec![latency; count * count].into(),
        }
    });
    let root = builder.root().map_err(input)?;
    for (host, speed) in hosts {
        builder.add_host(root, HostSpec::new(host, speed)).map_err(input)?;
    }
    Ok(Platform_::of(builder.build().map_err(input)?, None))
}
