//! One hook in every language, put into the places of a case.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use seam_contract::{
    Layer, OperationKind, PostHook, PostLayer, PreHook, PreLayer, document::Bodies, hook::Gate, verdict::Side,
};
use seam_hook_js::{JsFile, Options};
use seam_hook_policy::{Mode, Policy as Policies};
use seam_hook_rego::{Policy, RegoEngine};
use seam_hook_wasm::{Component, Engine, EngineOptions};

use crate::case::{Case, Place};

/// How long a call may take unless the case says otherwise: a hang fails, a busy machine
/// does not.
const PATIENCE: Duration = Duration::from_secs(30);

/// A language that hooks are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Rego, in a component.
    Rego,
    /// JavaScript.
    Js,
    /// A component of its own.
    Wasm,
}

impl Backend {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Rego, Self::Js, Self::Wasm];

    /// How its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Rego => ".rego",
            Self::Js => ".js",
            Self::Wasm => ".wasm",
        }
    }

    /// Whether hooks of this language can stand in every place of a case.
    pub fn fits(self, case: &Case) -> bool {
        match self {
            Self::Rego => !case.places.contains(&Place::Layer),
            // A policy may see credentials, so no JavaScript is one.
            Self::Js => !case.places.contains(&Place::Policy),
            Self::Wasm => true,
        }
    }
}

/// What hooks of every language are made with.
pub struct Engines {
    wasm: Arc<Engine>,
    rego: RegoEngine,
    components: PathBuf,
}

impl Engines {
    /// Of the components in the target directory; compiled ones are kept there too.
    pub fn start() -> Result<Self> {
        let target = target()?;
        let components = target.join("components");
        let wasm = Engine::new(EngineOptions {
            cache: Some(target.join("e2e-cache")),
        })?;
        let rego = RegoEngine::open(&wasm, &components.join("rego.wasm"))?;
        Ok(Self { wasm, rego, components })
    }

    /// The hook in a `.rego` or `.js` file.
    pub fn file(&self, path: &Path) -> Result<Hooks> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .context("a hook has a name")?
            .to_owned();
        let text = std::fs::read_to_string(path).with_context(|| format!("no hook at {}", path.display()))?;
        let code = match path.extension().and_then(|extension| extension.to_str()) {
            Some("rego") => {
                let load = |rule: &str, side: Side| -> Result<Option<Policy>> {
                    // The files of a test define what its cases need and nothing more.
                    if !text.contains(&format!("\n{rule} ")) {
                        return Ok(None);
                    }
                    let (files, rule) = (vec![(name.clone(), text.clone())], format!("data.mcp.fetch.{rule}"));
                    Ok(Some(self.rego.load(&name, files, &rule, OperationKind::Fetch, side)?))
                };
                Code::Rego {
                    pre: load("pre", Side::Input)?,
                    post: load("post", Side::Output)?,
                    allow: load("allow", Side::Input)?,
                }
            }
            Some("js") => Code::Js {
                path: path.to_owned(),
                text,
            },
            _ => bail!("{name} is no hook file"),
        };
        Ok(Hooks { name, code })
    }

    /// The hook that a first-party component is.
    pub fn component(&self, name: &str) -> Result<Hooks> {
        let path = self.components.join(format!("{name}.wasm"));
        let bytes =
            std::fs::read(&path).with_context(|| format!("{} is missing; run `cargo xtask guests`", path.display()))?;
        let name = format!("{name}.wasm");
        let code = Code::Wasm(self.wasm.load(&name, &bytes)?);
        Ok(Hooks { name, code })
    }
}

/// One hook in one language, loaded.
pub struct Hooks {
    name: String,
    code: Code,
}

enum Code {
    Rego {
        pre: Option<Policy>,
        post: Option<Policy>,
        allow: Option<Policy>,
    },
    Js {
        path: PathBuf,
        text: String,
    },
    Wasm(Component),
}

impl Hooks {
    /// The name of its file, as messages have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its language.
    pub fn backend(&self) -> Backend {
        match &self.code {
            Code::Rego { .. } => Backend::Rego,
            Code::Js { .. } => Backend::Js,
            Code::Wasm(_) => Backend::Wasm,
        }
    }

    /// The layers of a case, outermost first.
    pub async fn layers(&self, case: &Case) -> Result<Vec<Arc<dyn Layer>>> {
        ensure!(
            self.backend().fits(case),
            "{}: no place for {:?}",
            case.name,
            self.backend()
        );
        let limit = case.timeout_ms.map_or(PATIENCE, Duration::from_millis);
        let bodies = if case.body { Bodies::Given } else { Bodies::Withheld };
        let mut layers = Vec::new();
        for place in &case.places {
            layers.push(self.place(*place, limit, bodies).await?);
        }
        Ok(layers)
    }

    async fn place(&self, place: Place, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Layer>> {
        Ok(match place {
            Place::Pre => Arc::new(PreLayer::new(self.pre(limit, bodies).await?)),
            Place::Gate => Arc::new(PreLayer::new(Arc::new(Gate(self.gate(limit, bodies).await?)))),
            Place::Policy => Arc::new(Policies::new(Mode::All, vec![self.gate(limit, bodies).await?])),
            Place::Post => Arc::new(PostLayer::new(self.post(limit, bodies).await?)),
            Place::Layer => self.layer(limit, bodies).await?,
        })
    }

    async fn pre(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PreHook>> {
        Ok(match &self.code {
            Code::Rego { pre, .. } => rule(pre.as_ref(), "pre")?.pre_hook(limit, bodies)?,
            Code::Js { .. } => self.script().await?.pre_hook("pre", limit, bodies)?,
            Code::Wasm(component) => component.pre_hook(OperationKind::Fetch, limit, bodies)?,
        })
    }

    /// The rule `allow` where a policy file has one, else its pre hook.
    async fn gate(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PreHook>> {
        match &self.code {
            Code::Rego { allow: Some(allow), .. } => Ok(allow.pre_hook(limit, bodies)?),
            _ => self.pre(limit, bodies).await,
        }
    }

    async fn post(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn PostHook>> {
        Ok(match &self.code {
            Code::Rego { post, .. } => rule(post.as_ref(), "post")?.post_hook(limit, bodies)?,
            Code::Js { .. } => self.script().await?.post_hook("post", limit, bodies)?,
            Code::Wasm(component) => component.post_hook(OperationKind::Fetch, limit, bodies)?,
        })
    }

    async fn layer(&self, limit: Duration, bodies: Bodies) -> Result<Arc<dyn Layer>> {
        Ok(match &self.code {
            Code::Rego { .. } => bail!("Rego has no layers"),
            Code::Js { .. } => self.script().await?.layer("handle", limit, bodies)?,
            Code::Wasm(component) => component.layer(OperationKind::Fetch, limit, bodies)?,
        })
    }

    /// A worker of its own for each place: calls into one file take turns, so a file that
    /// stands twice in a stack would wait for itself.
    async fn script(&self) -> Result<Arc<JsFile>> {
        let Code::Js { path, text } = &self.code else {
            bail!("{} is no JavaScript", self.name);
        };
        Ok(JsFile::load(path, text.clone(), Options::default()).await?)
    }
}

fn rule<'p>(policy: Option<&'p Policy>, rule: &str) -> Result<&'p Policy> {
    policy.with_context(|| format!("the file does not define {rule}"))
}

/// The target directory of the build that is running.
fn target() -> Result<PathBuf> {
    let me = std::env::current_exe()?;
    // target/<profile>/deps/<test>
    let target = me.ancestors().nth(3).context("a test lies in a target directory")?;
    ensure!(
        target.join("components").is_dir(),
        "{} has no components; run `cargo xtask guests`",
        target.display()
    );
    Ok(target.to_owned())
}
