//! Erasing a person, as the command line and the page ask for it.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use model::Person;
use serde::Deserialize;

use super::{
    Oops, Shared,
    admin::{Of, refuse},
};
use crate::erase::{self, Deed};

/// How far it is with a person; nothing if nobody ever asked.
pub async fn look(State(app): Shared, Of(person): Of) -> Result<Response, Oops> {
    Ok(Json(erase::find(&*app.house.engines().topics, (&app.tenant, &person)).await?).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    person: String,
    deed: Deed,
}

pub async fn begin(State(app): Shared, Json(Asked { person, deed }): Json<Asked>) -> Result<Response, Oops> {
    let person = match Person::new(&person) {
        Ok(person) => person,
        Err(error) => return Ok(refuse(StatusCode::BAD_REQUEST, error)),
    };
    let (engines, of, now) = (app.house.engines(), (&app.tenant, &person), app.now());
    if deed == Deed::Look {
        let seen = erase::look_at((&*engines.store, Some(&*engines.courier)), of, now).await?;
        return Ok(Json(seen).into_response());
    }
    let asked = erase::ask((&*engines.store, &*engines.topics), of, deed == Deed::Welcome, now).await?;
    if let Err(why) = asked {
        return Ok(refuse(StatusCode::CONFLICT, why));
    }
    Ok((StatusCode::ACCEPTED, Json(erase::find(&*engines.topics, of).await?)).into_response())
}
