//! A person's devices, as the command line asks for them.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};

use super::{Oops, Shared, admin::Of};
use crate::devices;

pub async fn list(State(app): Shared, Of(person): Of) -> Result<Response, Oops> {
    let store = &*app.house.engines().store;
    Ok(Json(devices::read(store, (&app.tenant, &person)).await?).into_response())
}
