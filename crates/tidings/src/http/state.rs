//! Records of `windows` by hand, as the command line asks for them.

use axum::{
    Json,
    extract::{Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

use super::{Oops, Shared, admin::refuse};
use crate::state::{self, Deed, Place};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    record: Option<String>,
}

/// One record; without its name all that cannot be read, and what stands still.
pub async fn look(State(app): Shared, Query(Which { record }): Query<Which>) -> Result<Response, Oops> {
    let log = &*app.house.engines().topics;
    let Some(record) = record else {
        let still = app.house.standstills().into_iter();
        let still =
            still.map(|one| format!("{}: partition {} stands still: {}", one.group, one.partition, one.why));
        return Ok(Json((state::list(log).await?, still.collect::<Vec<_>>())).into_response());
    };
    let place: Place = match record.parse() {
        Ok(place) => place,
        Err(why) => return Ok(refuse(StatusCode::BAD_REQUEST, why)),
    };
    Ok(match state::export(log, place).await {
        Ok(export) => Json(export).into_response(),
        Err(error) => refuse(StatusCode::NOT_FOUND, format!("{error:#}")),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    deed: Deed,
    by: String,
}

pub async fn settle(State(app): Shared, Json(Asked { deed, by }): Json<Asked>) -> Response {
    let engines = app.house.engines();
    match state::settle(&*engines.topics, &*engines.store, &deed, &by, app.now()).await {
        Ok(done) => Json(done).into_response(),
        // A record that can be read, or that is gone.
        Err(error) => refuse(StatusCode::CONFLICT, format!("{error:#}")),
    }
}
