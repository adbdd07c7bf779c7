//! A body of JSON, and what is wrong with one in the house's own words.

use std::{fmt, marker::PhantomData};

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
    http::StatusCode,
};
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, Error, IntoDeserializer, MapAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};

use crate::{
    error_layer::leave_out_framework,
    problem::{HttpProblem, ProblemType},
};

/// A body that is a `T`, whose fields have names: a list of the same values in their order is none.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

/// Reads an object, or the word that an order without any field is, and no list.
struct NamedJson<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NamedJson<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        let deserializer: StrDeserializer<'_, E> = word.into_deserializer();
        T::deserialize(deserializer)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = HttpProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpProblem> {
        let body = Json::from_request(request, state).await;
        body.map(|Json(NamedJson(body))| Self(body)).map_err(|rejection| describe_rejection(&rejection))
    }
}

fn describe_rejection(rejection: &JsonRejection) -> HttpProblem {
    let kind = match rejection.status() {
        // No JSON, or cut off.
        StatusCode::BAD_REQUEST => ProblemType::UnreadableBody,
        status => ProblemType::from_status(status),
    };
    HttpProblem::new(kind, leave_out_framework(&rejection.body_text()))
}
