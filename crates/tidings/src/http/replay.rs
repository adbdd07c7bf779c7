//! Replays, as the command line orders them.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};

use super::{Oops, Shared, admin::refuse};
use crate::replay::{self, BEHIND_MAX, Order, Trouble};

pub async fn order(State(app): Shared, Json(order): Json<Order>) -> Result<Response, Oops> {
    let log = &*app.house.engines().topics;
    let pace = (&*app.house.intake().catalogue, BEHIND_MAX);
    match replay::answer(&app.replays, log, order, app.now(), Some(pace)).await {
        Ok(said) => Ok(Json(said).into_response()),
        Err(Trouble::Refused(why)) => Ok(refuse(StatusCode::CONFLICT, why)),
        Err(Trouble::Failed(error)) => Err(error.into()),
    }
}
