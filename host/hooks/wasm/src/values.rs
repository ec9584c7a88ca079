//! What a guest holds handles to.
//!
//! The values are the contract's own, immutable and cheap to clone; beside each stands what
//! it costs the host to keep it for the guest.

use std::sync::Arc;

use bytes::Bytes;
use seam_contract::{Next, fetch};

use crate::budget::{Budget, Charge, OverBudget};

/// What a handle costs the host beside the value behind it.
const ENTRY: usize = 256;

/// The call a hook is judging. There is one a store, so the handle itself is empty.
pub struct Context;

/// A request.
pub struct Request {
    pub(crate) value: fetch::Request,
    body: Option<Arc<Charge>>,
    _parts: Option<Charge>,
}

impl Request {
    /// One that the host holds anyway.
    pub(crate) fn held(value: fetch::Request) -> Self {
        Self {
            value,
            body: None,
            _parts: None,
        }
    }

    /// One that the guest made of this one, with the same body.
    pub(crate) fn derived(&self, value: fetch::Request, budget: &Budget) -> Result<Self, OverBudget> {
        let parts = budget.charge(request_size(&value))?;
        Ok(Self {
            value,
            body: self.body.clone(),
            _parts: Some(parts),
        })
    }

    /// One that the guest made with a body of its own.
    pub(crate) fn with_body(value: fetch::Request, budget: &Budget) -> Result<Self, OverBudget> {
        let body = budget.charge(value.body().map_or(0, Bytes::len))?;
        let parts = budget.charge(request_size(&value))?;
        Ok(Self {
            value,
            body: Some(Arc::new(body)),
            _parts: Some(parts),
        })
    }

    /// Its body, if it has one.
    pub(crate) fn body(&self) -> Option<Body> {
        self.value.body().map(|bytes| Body {
            bytes: bytes.clone(),
            _charge: self.body.clone(),
        })
    }
}

/// An answer.
pub struct Response {
    pub(crate) value: fetch::Response,
    body: Option<Arc<Charge>>,
    _parts: Option<Charge>,
}

impl Response {
    /// One that the host holds anyway.
    pub(crate) fn held(value: fetch::Response) -> Self {
        Self {
            value,
            body: None,
            _parts: None,
        }
    }

    /// One that the host keeps only for the guest: made by it, or come up from below.
    pub(crate) fn kept(value: fetch::Response, budget: &Budget) -> Result<Self, OverBudget> {
        let body = budget.charge(value.body().len())?;
        let parts = budget.charge(response_size(&value))?;
        Ok(Self {
            value,
            body: Some(Arc::new(body)),
            _parts: Some(parts),
        })
    }

    /// One that the guest made of this one, with the same body.
    pub(crate) fn derived(&self, value: fetch::Response, budget: &Budget) -> Result<Self, OverBudget> {
        let parts = budget.charge(response_size(&value))?;
        Ok(Self {
            value,
            body: self.body.clone(),
            _parts: Some(parts),
        })
    }

    /// Its body.
    pub(crate) fn body(&self) -> Body {
        Body {
            bytes: self.value.body().clone(),
            _charge: self.body.clone(),
        }
    }
}

/// The contents of a request or an answer, shared with it.
pub struct Body {
    pub(crate) bytes: Bytes,
    _charge: Option<Arc<Charge>>,
}

/// The rest of the stack, for a layer around `fetch`.
pub struct FetchNext(pub(crate) Next);

/// The rest of the stack, for a layer at the JSON door.
pub struct DocumentNext(pub(crate) Next);

fn request_size(request: &fetch::Request) -> usize {
    ENTRY + request.url().as_str().len() + fields_size(request.headers())
}

fn response_size(response: &fetch::Response) -> usize {
    ENTRY + response.url().as_str().len() + response.status_text().len() + fields_size(response.headers())
}

fn fields_size(headers: &seam_contract::headers::Headers) -> usize {
    headers
        .iter()
        .map(|(name, value)| name.len() + value.len() + size_of::<(String, String)>())
        .sum()
}
