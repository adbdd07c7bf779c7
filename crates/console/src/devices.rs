//! A person's devices, as the command line asks for them.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use views::devices;

use super::{AppState, HandlerError, admin::PersonParam};

pub async fn list_devices(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Response, HandlerError> {
    let store = &*app.house.engines().store;
    Ok(Json(devices::read_devices(store, (&app.tenant, &person)).await?).into_response())
}
