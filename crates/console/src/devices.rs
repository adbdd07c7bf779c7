//! A person's devices, as the command line asks for them.

use axum::{Json, extract::State};
use views::devices::{self, PersonDevices};
use web::HttpProblem;

use super::{AppState, admin::PersonParam};

pub async fn list_devices(
    State(app): AppState,
    PersonParam(person): PersonParam,
) -> Result<Json<PersonDevices>, HttpProblem> {
    let store = &*app.house.engines().store;
    Ok(Json(devices::read_devices(store, (&app.tenant, &person)).await?))
}
