//! To come; the types are final.
mod input;
use catalogue::{Catalogue, Problems};
pub use input::{ItemInput, MailInput, RenderError, Rendered, SectionInput};

/// Compiled layouts of a catalogue.
pub struct Renderer {}

impl Renderer {
    /// Compiles every layout and text of a catalogue.
    pub fn new(_catalogue: &Catalogue) -> Result<Self, Problems> {
        Ok(Self {})
    }
    /// Renders one mail.
    pub fn mail(&self, input: &MailInput<'_>) -> Result<Rendered, RenderError> {
        Err(RenderError::NoPlan(input.plan.clone()))
    }
    /// Renders every kind and plan with example data.
    pub fn check(_catalogue: &Catalogue) -> Problems {
        Problems::default()
    }
}
