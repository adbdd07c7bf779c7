//! What answers at the listener: the door of the house, or whatever stands in its place meanwhile.

use std::sync::{Arc, PoisonError, RwLock};

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use tower::ServiceExt as _;

/// Routes that others can take the place of while the listener stays. Cheap to clone.
#[derive(Clone)]
pub struct SwappableRouter(Arc<RwLock<Router>>);

impl SwappableRouter {
    pub fn new(first: Router) -> Self {
        Self(Arc::new(RwLock::new(first)))
    }

    /// From now on these answer. Requests that are under way stay with those they came to.
    pub fn swap(&self, next: Router) {
        let before = {
            let mut shown = self.0.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *shown, next)
        };
        // Whatever goes with them goes without the lock.
        drop(before);
    }

    /// For the listener.
    pub fn service(&self) -> Router {
        Router::new().fallback(answer_request).with_state(self.clone())
    }

    fn current(&self) -> Router {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer_request(State(front): State<SwappableRouter>, request: Request) -> Response {
    front.current().oneshot(request).await.into_response()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, routing::get};

    use super::*;
    use house::testing::read_response;

    #[tokio::test]
    async fn what_is_shown_can_change() {
        let says = |what: &'static str| Router::new().route("/", get(move || async move { what }));
        let front = SwappableRouter::new(says("open"));
        let service = front.service();
        let ask = async || {
            let request = Request::get("/").body(Body::empty()).unwrap();
            read_response(service.clone().oneshot(request).await.unwrap()).await.1
        };
        assert_eq!(ask().await, "open");
        front.swap(says("closed"));
        assert_eq!(ask().await, "closed");
        front.swap(says("open again"));
        assert_eq!(ask().await, "open again");
    }
}
